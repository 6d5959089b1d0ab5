package guard

const tools = "./internal/agent/tool"

// scriptGuards are about scripts, variables, TEMP and HOME (ADR 18).
var scriptGuards = []Guard{
	{"PID 1 proves that a script's path leads to its private copy", []string{"A-POL-11"}, "internal/sandbox/linux/initproc/copies.go",
		"err == nil && (!ok ||", "err != nil && (!ok ||", linux, "TestAScriptThatIsNoLongerTheApprovedOneDoesNotStart", true},
	{"only the approved bytes become a private copy", []string{"A-POL-11"}, "internal/sandbox/linux/scripts.go",
		"hex.EncodeToString(h.Sum(nil)) != s.sha256", "hex.EncodeToString(h.Sum(nil)) == \"\"", linux, "TestAScriptThatIsNoLongerTheApprovedOneDoesNotStart", true},
	{"a name that is taken away ends the run", []string{"A-POL-11"}, "internal/sandbox/linux/hostwatch.go",
		"w.seen.Store(true)\n\tw.once.Do(func() { close(w.moved) })", "", linux, "TestAScriptSwappedAllTheTime", true},
	{"an interpreter between is hashed before the start", []string{"A-POL-11", "A-POL-04"}, "internal/sandbox/resolve/entries.go",
		"if i == len(e.Interpreters)-1 {", "if i >= 0 {", "./internal/sandbox/resolve", "TestVerifyScriptEntry", false},
	{"an artifact's interpreter lies in an executable root", []string{"A-POL-11"}, "internal/agent/tool/program.go",
		"if !policy.Decide(d.deps.Policy, want).Allow {", "if !policy.Decide(d.deps.Policy, want).Allow && d == nil {", tools, "TestRunRefusesScriptsWithoutAnInterpreter", false},
	{"a variable that looks like a credential is refused", []string{"A-SBX-08"}, "internal/sandbox/policy/environment.go",
		"case credential(name):", "case credential(\"\"):", policy, "TestRefusedVariables", false},
	{"who exceeds a cap is ended", []string{"A-SBX-08", "A-SBX-02"}, "internal/sandbox/broker/storage.go",
		"case size.Over(c.bytes()):", "case size.Over(1 << 60):", broker, "TestAnExcessEndsTheTree", false},
	{"files without a name count", []string{"A-SBX-08"}, "internal/sandbox/broker/storage.go",
		"size.Bytes += more", "size.Bytes += more * 0", linux, "TestWhoFillsTempOrHomeIsEnded", true},
	{"a home is one task's at a time", []string{"A-SBX-08"}, "internal/statedir/homes.go",
		"err = fileop.Lock(ctx, dir)", "err = ctx.Err()", "./internal/statedir", "TestHomesAreKeptLockedAndEmptied", false},
	{"nothing is visible that the baseline does not name", []string{"A-SBX-07"}, "internal/sandbox/linux/layout.go",
		"\tv.baseline(p.Baseline)\n", "", "./internal/sandbox/matrix", "TestSomeRowsOnThisMachine", true},
}
