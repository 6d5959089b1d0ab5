package guard

var askGuards = []Guard{
	{"a card is answered by its owner only", []string{"R-INT-01", "R-PRI-05"}, ask,
		"if !ok || rec.card.Owner != owner {\n\t\tr.mu.Unlock()\n\t\treturn ledger.NotSent", "if !ok {\n\t\tr.mu.Unlock()\n\t\treturn ledger.NotSent",
		ask, "TestOnlyTheOwnerSeesAndAnswers"},
	{"a card that is settled takes no answer", []string{"R-INT-01"}, ask,
		"if rec.card.State != Pending {", "if false {", ask, "TestLateAnswersSendNothing"},
	{"claim before the answer leaves (card)", []string{"R-INT-01"}, ask,
		"rec.card.State = Answering\n\twire", "wire", ask, "TestWhatBecomesOfAnAnswer"},
	{"cards end with their generation", []string{"R-CONN-02", "R-REC-08"}, ask,
		"return c.Key.Generation == gen })", "return false })", ask, "TestLateAnswersSendNothing"},
	{"a former owner's cards are forgotten", []string{"R-PRI-05"}, ask,
		"if r.cards[k].card.Owner != owner {\n\t\t\treturn false", "if true {\n\t\t\treturn false", worker, "TestAnotherAccountEndsTheCards"},
	{"a long card must be read to its end", []string{"R-INT-08"}, ask,
		"accepts && c.Long && !a.SeenEnd", "false", ask, "TestLongCardsMustBeReadToTheEnd"},
	{"changes that were not shown are not accepted", []string{"R-INT-03", "R-INT-08"}, ask,
		"err == nil && accepts && (!ok || !c.File.Known)", "!ok && false", ask, "TestFileCardsNeedTheirChanges"},
	{"an answer names only what its card asked", []string{"R-INT-01"}, ask,
		"if m.set && !slices.Contains(m.used, kind) {", "if false {", ask, "TestPermissionsAreGrantedInPart"},
	{"free text only where the question allows it", []string{"R-INT-02"}, ask,
		"if !q.IsOther && len(q.Options) > 0 {", "if false {", ask, "TestQuestions"},
}

var wireGuards = []Guard{
	{"claim before the reply leaves (wire)", []string{"R-INT-01"}, rpc,
		"p.claimed = true\n", "", rpc, "TestOneReplyUnderAnyRace"},
	{"a reply belongs to its generation", []string{"R-CONN-02"}, rpc,
		"if key.Generation != c.gen || c.ended || c.closing {", "if false {", rpc, "TestOutcomesAtTheEndOfAGeneration"},
	{"a repeated id of a pending request is no second card", []string{"R-INT-01"}, rpc,
		"if _, ok := c.requests.byID[m.id]; ok {", "if false {", rpc, "TestRepeatedIdsOfPendingRequests"},
	{"a resolved request takes its queued reply back", []string{"R-INT-01"}, rpc,
		"c.out.withdraw(reply, gone(\"resolved\"))", "", rpc, "TestResolutionTakesAQueuedReplyBack"},
	{"pending requests are bounded", []string{"R-CON-05"}, rpc,
		"return len(r.byID) < MaxPending && r.bytes+size <= MaxPendingBytes", "return true", rpc, "TestPendingRequestsAreBounded"},
	{"queued notifications are bounded", []string{"R-REC-11"}, rpc,
		"if b.count <= MaxQueued && b.bytes <= MaxQueuedBytes {", "if true {", rpc, "TestOverflowIsAnExplicitSyncFailure"},
}

var historyGuards = []Guard{}

var pageGuards = []Guard{
	{"Host on every route", []string{"R-UI-01"}, web,
		"!slices.Contains(s.hosts, r.Host)", "false", web, "TestRules"},
	{"an Origin that is sent must be ours", []string{"R-UI-01"}, web,
		"case sent && !slices.Equal(origins, []string{s.origin}):", "case sent && len(origins) == 0:", web, "TestRules"},
	{"a command needs an Origin", []string{"R-UI-01"}, web,
		"case r.Header.Get(\"Origin\") == \"\":", "case false:", web, "TestRules"},
	{"a command is JSON by its content type", []string{"R-UI-01"}, web,
		"case err != nil || kind != \"application/json\" || charset != \"\" && charset != \"utf-8\":", "case false && kind+charset == \"\" && err == nil:", web, "TestRules"},
	{"a front end of another version is refused", []string{"R-UI-04"}, web,
		"len(sent) == 1 && sent[0] == strconv.Itoa(uicontract.Version)", "len(sent) == 1 && strconv.Itoa(uicontract.Version) != \"\"", web, "TestRules"},
	{"session key", []string{"R-UI-01"}, web,
		"return k.sessions[sum]\n", "return sum != digest{}\n", web, "TestRules"},
	{"a one-time key works once", []string{"R-UI-01"}, web,
		"delete(k.once, sum)\n", "", web, "TestKeyIsExchangedOnce"},
	{"a one-time key ends", []string{"R-UI-01"}, web,
		"if !now.Before(until) {", "if now.IsZero() && until.IsZero() {", web, "TestKeyExpires"},
}
