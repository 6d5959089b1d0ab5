package guard

var fileGuards = []Guard{
	{"links are not followed by the kernel", []string{"A-POL-02"}, rootio,
		"unix.O_PATH|unix.O_NOFOLLOW, resolve)", "unix.O_PATH, unix.RESOLVE_NO_XDEV&resolve)",
		rootio, "TestChildFollowsNoLink"},
	{"mount points below a root (RESOLVE_NO_XDEV)", []string{"A-POL-14"}, rootio,
		"resolve |= unix.RESOLVE_NO_XDEV", "_ = resolve",
		rootio, "TestMountPointsAndProcessLinks"},
	{"a root is opened without links", []string{"A-POL-02"}, rootio,
		"f, err := openat2(unix.AT_FDCWD, path, path, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)", "f, err := openat2(unix.AT_FDCWD, path, path, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_NO_MAGICLINKS)",
		rootio, "TestRootsAreVerified"},
	{"a root is the object that was applied", []string{"A-POL-02", "A-POL-14"}, rootio,
		"if r.info.ID != id {", "if false {",
		rootio, "TestRootsAreVerified"},
}

var protectedGuards = []Guard{
	{"protected paths (file tools)", []string{"A-POL-13"}, policy,
		"if protects(p, root, req.Path, req.Dir, req.FoldsCase) {", "if false {",
		tool, "TestFileToolsLeaveToolConfigurationAlone"},
	{"linked files (file tools)", []string{"A-POL-10"}, policy,
		"if g := GuardOf(req.Guards, req.Path); g != nil {", "if g := GuardOf(req.Guards, req.Path); g != nil && false {",
		tool, "TestFileToolsKeepTheTasksGuards"},
}

var transactionGuards = []Guard{
	{"the digest that the caller expects", []string{"A-TX-02"}, filetx,
		"if expected != \"\" && !strings.EqualFold(expected, s.sum) {", "if expected != \"\" && strings.EqualFold(s.sum, \"\") {",
		filetx, "TestRefusedChangesChangeNothing"},
}

var journalGuards = []Guard{
	{"a journalled effect is never forgotten", []string{"A-TX-01"}, journal,
		"case len(r.Steps) < len(old.Steps) || len(r.TempPaths) < len(old.TempPaths):", "case false:",
		journal, "TestUpdateRefusesToForgetAndKeepsTheOldRecord"},
	{"only the journal's legal transitions", []string{"A-TX-01"}, journal,
		"case r.State != old.State && !slices.Contains(next[old.State], r.State):", "case r.State != old.State && slices.Contains(next[old.State], r.State) && false:",
		journal, "TestOnlyLegalTransitions"},
}
