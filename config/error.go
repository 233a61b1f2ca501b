package config

import (
	"errors"
	"fmt"
)

// ErrInvalidConfig and ErrInvalidRequest are what a refused value is (Error.Kind): Kafka has both.
var (
	ErrInvalidConfig  = errors.New("invalid configuration")
	ErrInvalidRequest = errors.New("invalid request")
)

// Error is a refused setting. Its text is Kafka's, after the place where the value stands if that is known.
type Error struct {
	Name   string // the setting; empty when several take part
	Source string // "server.properties:12", "--override"; empty for a request over the wire
	Text   string // what Kafka says
	Kind   error  // ErrInvalidConfig or ErrInvalidRequest
	other  string // the second setting of a comparison, which may be the one that was given
}

// Error gives "place: text", or the text alone where there is no place.
func (e *Error) Error() string {
	if e.Source == "" {
		return e.Text
	}
	return e.Source + ": " + e.Text
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

// invalidValue is Kafka's sentence about one value; shown is the value as Java prints it.
func invalidValue(name, shown, why string) *Error {
	text := "Invalid value " + shown + " for configuration " + name
	if why != "" {
		text += ": " + why
	}
	return &Error{Name: name, Text: text, Kind: ErrInvalidConfig}
}

// refuse makes an error with Kafka's text about the named setting.
func refuse(name, format string, args ...any) *Error {
	return &Error{Name: name, Text: fmt.Sprintf(format, args...), Kind: ErrInvalidConfig}
}

// requirement is refuse for what Kafka's Scala code checks with require, which puts its own words before the text.
func requirement(name, format string, args ...any) *Error {
	return refuse(name, "requirement failed: "+format, args...)
}

// with names a second setting that takes part, for the place of the error.
func (e *Error) with(other string) *Error {
	e.other = other
	return e
}
