package config

import (
	"math"
	"strconv"
	"strings"
)

// value is a parsed setting: nil (null), bool, string, int64 (INT, SHORT, LONG), float64 or []string.
type value any

// parse reads text as Kafka's ConfigDef does: spaces around it do not count, and the errors name the type.
func parse(name, text string, t Type) (value, *Error) {
	trimmed := trim(text)
	switch t {
	case TypeBoolean:
		switch {
		case strings.EqualFold(trimmed, "true"):
			return true, nil
		case strings.EqualFold(trimmed, "false"):
			return false, nil
		}
		return nil, invalidValue(name, text, "Expected value to be either true or false")
	case TypeInt, TypeShort, TypeLong:
		n, err := strconv.ParseInt(trimmed, 10, bits(t))
		if err != nil {
			return nil, invalidValue(name, text, "Not a number of type "+t.String())
		}
		return n, nil
	case TypeDouble:
		f, ok := parseDouble(trimmed)
		if !ok {
			return nil, invalidValue(name, text, "Not a number of type "+t.String())
		}
		return f, nil
	case TypeList:
		return splitList(trimmed), nil
	case TypeClass:
		if trimmed == "" {
			return nil, invalidValue(name, text, "Class "+text+" could not be found.")
		}
	}
	return trimmed, nil
}

func bits(t Type) int {
	switch t {
	case TypeShort:
		return 16
	case TypeInt:
		return 32
	}
	return 64
}

// trim takes off what Java's String.trim does: everything up to and including the space character.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// splitList cuts at commas together with the white space around them; no text is no element.
func splitList(trimmed string) []string {
	if trimmed == "" {
		return []string{}
	}
	parts := strings.Split(trimmed, ",")
	for i, p := range parts {
		if i > 0 {
			p = strings.TrimLeft(p, javaSpace)
		}
		if i < len(parts)-1 {
			p = strings.TrimRight(p, javaSpace)
		}
		parts[i] = p
	}
	return parts
}

// javaSpace is \s of Java's regular expressions.
const javaSpace = " \t\n\x0b\f\r"

// parseDouble reads what Java's Double.parseDouble does.
func parseDouble(s string) (float64, bool) {
	switch strings.TrimLeft(s, "+-") {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		if strings.HasPrefix(s, "-") {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	}
	if n := len(s); n > 1 && strings.ContainsRune("fFdD", rune(s[n-1])) {
		s = s[:n-1]
	}
	letters := "0123456789+-.eE"
	if hex := strings.TrimLeft(s, "+-"); strings.HasPrefix(hex, "0x") || strings.HasPrefix(hex, "0X") {
		letters += "abcdfABCDFxXpP"
	}
	if strings.Trim(s, letters) != "" {
		return 0, false // Go's infinity and underscores are not Java's
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && math.IsInf(f, 0) {
		return f, true // too large is infinite in Java, no error
	}
	return f, err == nil
}

// show gives the value as DescribeConfigs prints it; false for null.
func show(v value) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case []string:
		return strings.Join(v, ","), true
	}
	return javaString(v), true
}

// javaString prints a value as Java's String.valueOf does, for error texts.
func javaString(v value) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return javaDouble(v)
	case []string:
		return javaList(v)
	case string:
		return v
	}
	return "null"
}

func javaList(list []string) string { return "[" + strings.Join(list, ", ") + "]" }

// javaDouble prints as Double.toString: plain between 0.001 and ten million, else with an exponent, and always with a point.
func javaDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent) // strconv has just written it
	return mantissa + "E" + strconv.Itoa(n)
}
