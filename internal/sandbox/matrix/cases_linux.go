package matrix

import "slices"

// cases are the rows of Linux, one list per subject.
var cases = slices.Concat(profileCases, linkCases, entryCases, scriptCases, treeCases, reachCases, baselineCases, protectedCases,
	attackFileCases, attackRootCases, attackGuardCases, attackProcessCases, attackInitCases, attackNetworkCases,
	networkCases, attackEndpointCases)
