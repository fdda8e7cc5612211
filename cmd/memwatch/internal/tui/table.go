package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// A column of a list of things.
type column[T any] struct {
	title string
	width int  // cells, at least
	most  int  // cells that it takes of what is left over; less than width: none
	left  bool // what it holds begins at its left edge
	rank  int  // the highest gives way first; 0: it stays
	text  func(of T, cells int) string
	style func(of T) lipgloss.Style // nil: that of its row
	order func(a, b T) int          // what comes first; nil: the list is not ordered by it
}

// given returns a column's text in the column's width.
func (c *column[T]) given(s string) string {
	if pad := c.width - lipgloss.Width(s); !c.left && pad > 0 {
		return strings.Repeat(" ", pad) + s
	}
	return fit(s, c.width)
}

// layout returns the columns that have room beside one another, as wide as they may be. What is left over
// goes to the first that takes it.
func layout[T any](all []column[T], width int) []column[T] {
	all = slices.Clone(all)
	taken := func() (n int) {
		for _, c := range all {
			n += c.width + 1
		}
		return n - 1
	}
	for taken() > width {
		worst := 0
		for i := range all {
			if all[i].rank > all[worst].rank {
				worst = i
			}
		}
		if all[worst].rank == 0 {
			break
		}
		all = slices.Delete(all, worst, worst+1)
	}
	for i := range all {
		all[i].width += max(min(width-taken(), all[i].most-all[i].width), 0)
	}
	return all
}

// heads draws the titles of columns; that by which the list is ordered is marked.
func heads[T any](columns []column[T], by string, inverted bool, width int) string {
	var line strings.Builder
	for i := range columns {
		c := &columns[i]
		if i > 0 {
			line.WriteByte(' ')
		}
		if c.title != by {
			line.WriteString(faint.Render(c.given(c.title)))
			continue
		}
		arrow := "▼"
		if inverted {
			arrow = "▲"
		}
		line.WriteString(accent.Render(c.given(c.title + arrow)))
	}
	return clip(line.String(), width)
}

// edge is a space that is drawn: what is only spaces at the end of a line is not, whatever its style.
const edge = "\u00a0"

// drawRow draws one thing. The row that is chosen has one colour: two would hide each other.
func drawRow[T any](columns []column[T], of T, isChosen bool, style lipgloss.Style, width int) string {
	var line strings.Builder
	for i := range columns {
		c := &columns[i]
		if i > 0 {
			line.WriteByte(' ')
		}
		text, s := c.given(c.text(of, c.width)), style
		if c.style != nil {
			s = c.style(of)
		}
		if isChosen {
			line.WriteString(text)
		} else {
			line.WriteString(s.Render(text))
		}
	}
	if isChosen {
		whole := fit(line.String(), width)
		if front, blank := strings.CutSuffix(whole, " "); blank {
			whole = front + edge
		}
		return chosen.Render(whole)
	}
	return clip(line.String(), width)
}

// sortable returns the titles of the columns by which a list may be ordered.
func sortable[T any](columns []column[T]) (titles []string) {
	for _, c := range columns {
		if c.order != nil {
			titles = append(titles, c.title)
		}
	}
	return titles
}

// sorted orders list by the column of that title.
func sorted[T any](list []T, columns []column[T], by string, inverted bool) {
	for _, c := range columns {
		if c.title == by && c.order != nil {
			slices.SortStableFunc(list, c.order)
		}
	}
	if inverted {
		slices.Reverse(list)
	}
}
