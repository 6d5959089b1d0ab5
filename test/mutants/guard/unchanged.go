package guard

const (
	seen     = "./internal/sandbox/linux/seen"
	seenRule = "internal/sandbox/linux/seen/rule.go"
	seenTab  = "internal/sandbox/linux/seen/table.go"
)

// unchangedGuards keep a program from passing for unchanged (ADR 23).
var unchangedGuards = []Guard{
	{"unchanged: only trusted file systems", []string{"A-POL-04"}, seenRule, "return trusted[s.Filesystem] &&", "return s.Filesystem != -1 &&", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: no file system whose mappings leave no stamp", []string{"A-POL-04"}, seenRule,
		"unix.EXT4_SUPER_MAGIC: true,", "unix.EXT4_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,", seen, "TestEveryWayToWriteLeavesAStamp", false},
	{"unchanged: the mount is known for ever", []string{"A-POL-04"}, seenRule, "\t\ts.Mount != 0 &&\n", "", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: a regular file", []string{"A-POL-04"}, seenRule, "\t\ts.Mode&unix.S_IFMT == unix.S_IFREG &&\n", "", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: only root may write it, by mode", []string{"A-POL-04"}, seenRule, "\t\ts.Mode&0o022 == 0 &&\n", "", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: only root may write it, by owner", []string{"A-POL-04"}, seenRule, "\t\ts.UID == 0 &&\n", "", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: one name", []string{"A-POL-04"}, seenRule, "\t\ts.Links == 1 &&\n", "", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: no mappings of the storage itself", []string{"A-POL-04"}, seenRule, "\t\ts.Attributes&direct == 0 &&\n", "", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: settled before the hash", []string{"A-POL-04"}, seenRule, "s.Changed < begun-int64(settled)", "s.Changed != begun", linux, "TestWhatTheSandboxMayWriteIsAlwaysHashed", true},
	{"unchanged: the whole state is compared", []string{"A-POL-04"}, seenTab, "return ok && r.state == now &&", "return ok &&", linux, "TestEveryChangeIsHashedAgain", true},
	{"unchanged: the digest is compared", []string{"A-POL-04"}, seenTab, "&& r.sum == sum", "", linux, "TestAnUnchangedProgramIsHashedOnce", true},
	{"unchanged: under the same writable roots only", []string{"A-POL-04"}, seenTab, "&& r.scope == scope", "", linux, "TestAnUnchangedProgramIsHashedOnce", true},
	{"unchanged: the same before and after the hash", []string{"A-POL-04"}, seenTab, "before != after || ", "", seen, "TestWhatIsNotRemembered", false},
	{"unchanged: a later full hash forgets an earlier one", []string{"A-POL-04"}, seenTab, "\tdelete(t.known, before.ID)\n", "", seen, "TestTheLastFullHashCounts", false},
	{"unchanged: a clock that was set forgets everything", []string{"A-POL-04"}, seenTab, "\t\tclear(t.known)\n", "", seen, "TestAClockThatWasSetForgetsEverything", false},
	{"unchanged: the kernel tells that the clock was set", []string{"A-POL-04"}, "internal/sandbox/linux/seen/clock.go",
		"unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET", "unix.TFD_TIMER_ABSTIME", seen, "TestTheKernelTellsThatTheClockWasSet", false},
	{"unchanged: the table is bounded", []string{"A-POL-04"}, seenTab, "len(t.known) >= most", "len(t.known) >= most*most", seen, "TestTheTableIsBounded", false},
	{"unchanged: what runs is what was looked at", []string{"A-POL-04"}, "internal/sandbox/linux/seen/look.go", "return ok && r == s", "return ok", seen, "TestRunsOnlyTheSameObject", false},
	{"unchanged: not below a writable root by another name", []string{"A-POL-04"}, "internal/sandbox/linux/launch.go",
		"&& !seen.Reached(c.Path, j.plan.writable.paths)", "", linux, "TestWhatTheSandboxMayWriteIsAlwaysHashed", true},
	{"unchanged: bind mounts are names, too", []string{"A-POL-04"}, "internal/sandbox/linux/seen/reach.go",
		"if !ok || from.device == at.device && within(from.path, at.path) {", "if !ok || from.device == at.device && within(d, program) {", seen, "TestReachedByAnyName", false},
	{"unchanged: only where programs that run cannot be written", []string{"A-POL-04"}, "internal/sandbox/linux/unchanged.go",
		"if !j.backend.denies() {", "if j.backend.denies == nil {", linux, "TestWithoutBusyProgramsEverythingIsHashed", true},
	{"what the audit cannot hold does not run", []string{"A-AUD-01", "A-POL-04"}, "internal/sandbox/linux/launch.go",
		"verdict = c.Admit(proof)", "c.Admit(proof)", linux, "TestWhatIsNotAdmittedDoesNotRun", true},
	{"an entry in another state is read before its start", []string{"A-POL-04"}, "internal/sandbox/resolve/entries.go",
		"if ok && known.same(before) {", "if ok {", "./internal/sandbox/resolve", "TestEntriesAreReadAgainWhenTheyChanged", false},
}
