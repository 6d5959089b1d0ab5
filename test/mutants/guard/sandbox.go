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

// right takes one right out of what Landlock denies.
func right(name, constant, killer string) Guard {
	return Guard{"Landlock denies: " + name, []string{"A-SBX-01"}, filter,
		"HandledAccessFS: 1<<(15) - 1}", "HandledAccessFS: (1<<(15) - 1) &^ ll.AccessFS" + constant + "}", filter, killer}
}

var rightGuards = []Guard{
	right("execute", "Execute", "TestLandlockSplit"),
	right("write a file", "WriteFile", "TestLandlockSplit"),
	right("read a file", "ReadFile", "TestLandlockSplit"),
	right("list a directory", "ReadDir", "TestLandlockSplit"),
	right("remove a directory", "RemoveDir", "TestLandlockSplit"),
	right("remove a file", "RemoveFile", "TestLandlockSplit"),
	right("make a character device", "MakeChar", "TestEveryLandlockRightIsDenied"),
	right("make a directory", "MakeDir", "TestLandlockSplit"),
	right("make a file", "MakeReg", "TestLandlockSplit"),
	right("make a socket", "MakeSock", "TestEveryLandlockRightIsDenied"),
	right("make a pipe", "MakeFifo", "TestLandlockSplit"),
	right("make a block device", "MakeBlock", "TestEveryLandlockRightIsDenied"),
	right("make a link", "MakeSym", "TestLandlockSplit"),
	right("link and rename between directories", "Refer", "TestLandlockSplit"),
	right("truncate", "Truncate", "TestLandlockSplit"),
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
	{"a list rule lists only", []string{"A-SBX-01"}, filter,
		"beneath.AllowedAccess = ll.AccessFSReadDir\n", "beneath.AllowedAccess = readDir\n",
		filter, "TestLandlockSplit"},
	{"the domain is entered", []string{"A-SBX-01"}, filter,
		"if err := ll.LandlockRestrictSelf(fd, 0); err != nil {", "if err := error(nil); err != nil {",
		filter, "TestLandlockSplit"},
	{"ports: granted for connecting only", []string{"A-SBX-05"}, filter,
		"if err := put(uint64(port), ll.AccessNetConnectTCP); err != nil {", "if err := put(uint64(port), ll.AccessNetConnectTCP|ll.AccessNetBindTCP); err != nil {",
		filter, "TestEveryLandlockRightIsDenied"},
	{"ports: connecting is denied", []string{"A-SBX-05"}, filter,
		"a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP", "a.HandledAccessNet = ll.AccessNetBindTCP",
		filter, "TestEveryLandlockRightIsDenied"},
	{"ports: binding is denied", []string{"A-SBX-05"}, filter,
		"a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP", "a.HandledAccessNet = ll.AccessNetConnectTCP",
		filter, "TestEveryLandlockRightIsDenied"},
	{"devices are not controlled", []string{"A-SBX-01"}, filter,
		"a.HandledAccessFS |= ll.AccessFSIoctlDev", "a.HandledAccessFS |= 0",
		filter, "TestEveryLandlockRightIsDenied"},
	{"abstract sockets of the host", []string{"A-SBX-04"}, filter,
		"a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal", "a.Scoped = ll.ScopeSignal",
		filter, "TestEveryLandlockRightIsDenied"},
	{"signals to the host", []string{"A-SBX-04"}, filter,
		"a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal", "a.Scoped = ll.ScopeAbstractUnixSocket",
		filter, "TestEveryLandlockRightIsDenied"},
}

var mountGuards = []Guard{
	{"host uid 0 is never a payload's", []string{"A-SBX-04"}, linux,
		"return identity{root: true, uid: reservedID, gid: reservedID,", "return identity{root: true, uid: 0, gid: 0,",
		linux, "TestKernelIdentityIsNeverRoot"},
	{"nothing is visible that the baseline does not name", []string{"A-SBX-07"}, linux,
		"\tv.baseline(p.Baseline)\n", "", matrix, "TestSomeRowsOnThisMachine"},
}

var networkGuards = []Guard{
	{"the messages of a sandbox are packets of a socket pair", []string{"A-SBX-06"}, "internal/sandbox/linux/wire",
		"if err == nil && kind != unix.SOCK_SEQPACKET {", "if err == nil && kind == 0 {",
		"internal/sandbox/linux/wire", "TestOnlyPacketSocketsAreOpened"},
	{"the bus that is asked for a group is a local socket", []string{"A-SBX-06"}, cgroup,
		`if strings.HasPrefix(address, "unix:path=") || strings.HasPrefix(address, "unix:abstract=") {`, `if strings.HasPrefix(address, "unix:") || address != "" {`,
		cgroup, "TestBusAddress"},
	{"a server that came up on an address of a rule", []string{"A-POL-06"}, forward,
		"if s.guarded(in, to) {\n\t\treturn nil, net.ErrClosed\n\t}\n\tctx", "ctx",
		forward, "TestAGuardedAddressIsNotDialledAndToldOnce"},
	{"connections of one sandbox are bounded", []string{"A-POL-06", "A-SBX-05"}, forward,
		"maxConnections = 128 ", "maxConnections = 128000 ",
		forward, "TestTwoThousandConnections"},
	{"the sandbox ends with what it has open", []string{"A-POL-06"}, forward,
		"for c := range s.conns {\n\t\tabort(c)\n\t}", "",
		forward, "TestStopEndsWhatIsOpen"},
	{"a reset is passed on", []string{"A-POL-06"}, forward,
		"abort(from)\n\t\tabort(to)", "abort(from)\n\t\tto.CloseWrite()",
		forward, "TestAResetIsPassedOn"},
	{"who listens when the connection is made", []string{"A-POL-06"}, forward,
		"if s.guarded(in, to) { // who listens now", "if false { // who listens now",
		forward, "TestWhoListensIsAskedForAgainOnceConnected"},
}

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
