package guard

var initGuards = []Guard{
	{"close_range at the start of PID 1", []string{"A-SBX-03"}, initproc,
		"if err := unix.CloseRange(socket+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {\n\t\treturn fmt.Errorf(\"close_range: %w\", err)\n\t}\n\tnames,", "if true {\n\t\treturn nil\n\t}\n\tnames,",
		linux, "TestNoDescriptorLeaks"},
	{"PID 1 is not dumpable", []string{"A-SBX-09"}, initproc,
		"unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)", "unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)",
		linux, "TestProcessOneIsHidden"},
	{"core limit", []string{"A-SBX-09"}, initproc,
		"&syscall.Rlimit{Cur: 1, Max: 1}", "&syscall.Rlimit{Cur: 4096, Max: 4096}",
		linux, "TestCrashesReachNoHelperOfTheHost"},
}

var landlockGuards = []Guard{
	{"delete apart from write (Landlock)", []string{"A-SBX-01"}, filter,
		"add(sandbox.Write, writeFile, writeDir)", "add(sandbox.Write, writeFile, writeDir|deleteDir)",
		filter, "TestLandlockSplit"},
	{"write apart from read (Landlock)", []string{"A-SBX-01"}, filter,
		"add(sandbox.Read, readFile, readDir)", "add(sandbox.Read, readFile|writeFile, readDir|writeDir)",
		filter, "TestLandlockSplit"},
	{"execute apart from read (Landlock)", []string{"A-SBX-01"}, filter,
		"add(sandbox.Execute, executeFile, executeFile)", "add(sandbox.Read, executeFile, executeFile)",
		filter, "TestLandlockSplit"},
}

var mountGuards = []Guard{
	{"host uid 0 is never a payload's", []string{"A-SBX-04"}, linux,
		"return identity{root: true, uid: reservedID, gid: reservedID,", "return identity{root: true, uid: 0, gid: 0,",
		linux, "TestKernelIdentityIsNeverRoot"},
	{"nothing is visible that the baseline does not name", []string{"A-SBX-07"}, linux,
		"\tv.baseline(p.Baseline)\n", "", matrix, "TestSomeRowsOnThisMachine"},
}

var networkGuards = []Guard{}

var resourceGuards = []Guard{
	{"resource limits beside the control group", []string{"A-SBX-02"}, initproc,
		"l.Max = min(l.Max, b.most)", "l.Max = max(l.Max, 0)",
		linux, "TestTheHostsUserKeepsHisShare"},
	{"who exceeds a cap is ended", []string{"A-SBX-08", "A-SBX-02"}, broker,
		"case size.Over(c.bytes()):", "case size.Over(1 << 60):", broker, "TestAnExcessEndsTheTree"},
	{"files without a name count", []string{"A-SBX-08"}, broker,
		"size.Bytes += more", "size.Bytes += more * 0", linux, "TestWhoFillsTempOrHomeIsEnded"},
	{"a home is one task's at a time", []string{"A-SBX-08"}, statedir,
		"err = fileop.Lock(ctx, dir)", "err = ctx.Err()", statedir, "TestHomesAreKeptLockedAndEmptied"},
}
