//go:build !linux

package main

// dropStartPages is for Linux.
func dropStartPages() {}
