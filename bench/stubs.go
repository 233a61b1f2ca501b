package main

import (
	"context"
	"io"
)

func soakCommand(context.Context, []string, io.Writer) error    { return nil }
func compareCommand(context.Context, []string, io.Writer) error { return nil }
