package dump

import (
	"fmt"
	"io"
	"strings"
)

// complaints gathers what is wrong, and what is worth a note, under headings, in the order in which it is found.
type complaints struct {
	count    int // of what is wrong
	heads    []string
	sections map[string]*section
}

// section is what stands below a heading.
type section struct {
	lines   []string
	further int // that are not kept
}

// maxSection is how many lines a heading keeps: a damaged file may have millions.
const maxSection = 1000

func (c *complaints) add(head, body string) {
	c.count++
	c.note(head, body)
}

func (c *complaints) note(head, body string) {
	if c.sections == nil {
		c.sections = map[string]*section{}
	}
	s := c.sections[head]
	if s == nil {
		s = &section{}
		c.sections[head] = s
		c.heads = append(c.heads, head)
	}
	if len(s.lines) == maxSection {
		s.further++
		return
	}
	s.lines = append(s.lines, body)
}

// write writes each heading once with what belongs to it.
func (c *complaints) write(w io.Writer) error {
	var text strings.Builder
	for _, head := range c.heads {
		text.WriteString(head + "\n")
		s := c.sections[head]
		for _, body := range s.lines {
			text.WriteString("  " + body + "\n")
		}
		if s.further > 0 {
			fmt.Fprintf(&text, "  and %d more\n", s.further)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
