package guard

const (
	ask    = "./internal/relay/ask"
	rpc    = "./internal/relay/rpc"
	web    = "./internal/relay/web"
	worker = "./internal/relay/worker"
)

var relayGuards = []Guard{
	{"a card is answered by its owner only", []string{"R-INT-01", "R-PRI-05"}, "internal/relay/ask/registry.go",
		"if !ok || rec.card.Owner != owner {\n\t\tr.mu.Unlock()\n\t\treturn ledger.NotSent", "if !ok {\n\t\tr.mu.Unlock()\n\t\treturn ledger.NotSent",
		ask, "TestOnlyTheOwnerSeesAndAnswers", false},
	{"a card that is settled takes no answer", []string{"R-INT-01"}, "internal/relay/ask/registry.go",
		"if rec.card.State != Pending {", "if false {", ask, "TestLateAnswersSendNothing", false},
	{"claim before the answer leaves (card)", []string{"R-INT-01"}, "internal/relay/ask/registry.go",
		"rec.card.State = Answering\n\twire", "wire", ask, "TestWhatBecomesOfAnAnswer", false},
	{"cards end with their generation", []string{"R-CONN-02", "R-REC-08"}, "internal/relay/ask/registry.go",
		"return c.Key.Generation == gen })", "return false })", ask, "TestLateAnswersSendNothing", false},
	{"a former owner's cards are forgotten", []string{"R-PRI-05"}, "internal/relay/ask/registry.go",
		"if r.cards[k].card.Owner != owner {\n\t\t\treturn false", "if true {\n\t\t\treturn false", worker, "TestAnotherAccountEndsTheCards", false},
	{"a long card must be read to its end", []string{"R-INT-08"}, "internal/relay/ask/answer.go",
		"accepts && c.Long && !a.SeenEnd", "false", ask, "TestLongCardsMustBeReadToTheEnd", false},
	{"changes that were not shown are not accepted", []string{"R-INT-03", "R-INT-08"}, "internal/relay/ask/answer.go",
		"err == nil && accepts && (!ok || !c.File.Known)", "!ok && false", ask, "TestFileCardsNeedTheirChanges", false},
	{"an answer names only what its card asked", []string{"R-INT-01"}, "internal/relay/ask/answer.go",
		"if m.set && !slices.Contains(m.used, kind) {", "if false {", ask, "TestPermissionsAreGrantedInPart", false},
	{"free text only where the question allows it", []string{"R-INT-02"}, "internal/relay/ask/answer.go",
		"if !q.IsOther && len(q.Options) > 0 {", "if false {", ask, "TestQuestions", false},
	{"claim before the reply leaves (wire)", []string{"R-INT-01"}, "internal/relay/rpc/requests.go",
		"p.claimed = true\n", "", rpc, "TestOneReplyUnderAnyRace", false},
	{"a reply belongs to its generation", []string{"R-CONN-02"}, "internal/relay/rpc/requests.go",
		"if key.Generation != c.gen || c.ended || c.closing {", "if false {", rpc, "TestOutcomesAtTheEndOfAGeneration", false},
	{"a repeated id of a pending request is no second card", []string{"R-INT-01"}, "internal/relay/rpc/requests.go",
		"if _, ok := c.requests.byID[m.id]; ok {", "if false {", rpc, "TestRepeatedIdsOfPendingRequests", false},
	{"a resolved request takes its queued reply back", []string{"R-INT-01"}, "internal/relay/rpc/requests.go",
		"c.out.withdraw(reply, gone(\"resolved\"))", "", rpc, "TestResolutionTakesAQueuedReplyBack", false},
	{"pending requests are bounded", []string{"R-CON-05"}, "internal/relay/rpc/requests.go",
		"return len(r.byID) < MaxPending && r.bytes+size <= MaxPendingBytes", "return true", rpc, "TestPendingRequestsAreBounded", false},
	{"queued notifications are bounded", []string{"R-REC-11"}, "internal/relay/rpc/inbox.go",
		"if b.count <= MaxQueued && b.bytes <= MaxQueuedBytes {", "if true {", rpc, "TestOverflowIsAnExplicitSyncFailure", false},
	{"Host on every route", []string{"R-UI-01"}, "internal/relay/web/guard.go",
		"!slices.Contains(s.hosts, r.Host)", "false", web, "TestRules", false},
	{"an Origin that is sent must be ours", []string{"R-UI-01"}, "internal/relay/web/guard.go",
		"case sent && !slices.Equal(origins, []string{s.origin}):", "case sent && len(origins) == 0:", web, "TestRules", false},
	{"a command needs an Origin", []string{"R-UI-01"}, "internal/relay/web/guard.go",
		"case r.Header.Get(\"Origin\") == \"\":", "case false:", web, "TestRules", false},
	{"a command is JSON by its content type", []string{"R-UI-01"}, "internal/relay/web/guard.go",
		"case err != nil || kind != \"application/json\" || charset != \"\" && charset != \"utf-8\":", "case false && kind+charset == \"\" && err == nil:", web, "TestRules", false},
	{"a front end of another version is refused", []string{"R-UI-04"}, "internal/relay/web/guard.go",
		"len(sent) == 1 && sent[0] == strconv.Itoa(uicontract.Version)", "len(sent) == 1 && strconv.Itoa(uicontract.Version) != \"\"", web, "TestRules", false},
	{"session key", []string{"R-UI-01"}, "internal/relay/web/keys.go",
		"return k.sessions[sum]\n", "return sum != digest{}\n", web, "TestRules", false},
	{"a one-time key works once", []string{"R-UI-01"}, "internal/relay/web/keys.go",
		"delete(k.once, sum)\n", "", web, "TestKeyIsExchangedOnce", false},
	{"a one-time key ends", []string{"R-UI-01"}, "internal/relay/web/keys.go",
		"if !now.Before(until) {", "if now.IsZero() && until.IsZero() {", web, "TestKeyExpires", false},
}
