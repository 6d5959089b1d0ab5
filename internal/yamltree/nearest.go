package yamltree

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that name probably means: the one with the smallest edit distance (a swap of neighbours
// counts as one step), if that is at most a third of name's length and at least 1; "" if none is near enough. Letter
// case, "-" and "_" do not count.
func Nearest(name string, candidates []string) string {
	folded := fold(name)
	best, limit := "", max(1, utf8.RuneCountInString(folded)/3)+1
	for _, c := range candidates {
		if d := distance(folded, fold(c), limit); d < limit {
			best, limit = c, d
		}
	}
	return best
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance is the restricted Damerau-Levenshtein distance, or limit if it is not below limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) >= limit {
		return limit
	}
	var before []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next := make([]int, len(y)+1)
		next[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
			least = min(least, next[j])
		}
		if least >= limit {
			return limit
		}
		before, row = row, next
	}
	return min(row[len(y)], limit)
}
