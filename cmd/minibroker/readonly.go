package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"minibroker"
	"minibroker/config"
)

// readOnlyProperties are the settings that --read-only stands for: where the data is, and the node id that it was made for.
func (f flags) readOnlyProperties() ([]config.Property, error) {
	if f.dataDir != "" {
		return nil, usageError{errors.New("--read-only and --data-dir are both given")}
	}
	dirs, err := absolute(f.readOnly)
	if err != nil {
		return nil, err
	}
	props := []config.Property{{Key: "log.dirs", Value: dirs, Source: "--read-only"}}
	for _, dir := range strings.Split(dirs, ",") {
		id, ok, err := minibroker.NodeIDOf(dir)
		if err != nil {
			return nil, fmt.Errorf("--read-only: %w", err)
		}
		if ok {
			return append(props, config.Property{Key: "node.id", Value: strconv.Itoa(int(id)), Source: "--read-only"}), nil
		}
	}
	return props, nil
}
