package matrix

import (
	"slices"
	"strconv"
	"strings"
)

// sortCases orders ST- before AC-, each by number.
func sortCases(all []Case) {
	slices.SortStableFunc(all, func(a, b Case) int {
		ka, na := key(a.ID)
		kb, nb := key(b.ID)
		if ka != kb {
			return strings.Compare(kb, ka)
		}
		return na - nb
	})
}

func key(id string) (kind string, number int) {
	kind, rest, _ := strings.Cut(id, "-")
	number, _ = strconv.Atoi(rest)
	return kind, number
}
