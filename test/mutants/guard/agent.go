package guard

var agentGuards = []Guard{
	{"equal failures end a task", []string{"A-TOOL-08"}, run,
		"return g.counts[f] >= g.limit", "return g.counts[f] < 0",
		run, "TestSameFailureLimit"},
}

var doorGuards = []Guard{
	{"Host of the HTTP endpoint", []string{"A-MCP-05"}, httpd,
		"case !slices.Contains(g.hosts, r.Host):", "case false:",
		httpd, "TestOnlyThePlainRequestOfALocalClientGetsIn"},
	{"Origin of the HTTP endpoint", []string{"A-MCP-05"}, httpd,
		"case !g.origin(h[\"Origin\"]):", "case false:",
		httpd, "TestOnlyThePlainRequestOfALocalClientGetsIn"},
	{"only POST", []string{"A-MCP-05"}, httpd,
		"case r.Method != http.MethodPost:", "case false:",
		httpd, "TestOnlyThePlainRequestOfALocalClientGetsIn"},
	{"size of a body", []string{"A-MCP-05"}, httpd,
		"case len(body) > MaxBody:", "case false:",
		httpd, "TestBodiesUpToTheLimit"},
	{"peer's user", []string{"A-MCP-05"}, httpd,
		"if err != nil || uid != l.config.Self {", "if err != nil || uid < 0 {",
		httpd, "TestOtherUsersAreRefusedUnread"},
	{"connections in all", []string{"A-MCP-05"}, httpd,
		"if len(l.live) >= MaxConnections {", "if false {",
		httpd, "TestAFullHouseIsToldSo"},
	{"terminal MCP tasks are immutable", []string{"A-MCP-12"}, taskstore,
		"case e.record.Status.Terminal():", "case false:",
		taskstore, "TestTerminalStatesAreImmutable"},
	{"MCP task records end", []string{"A-MCP-12"}, taskstore,
		"if e.record.Expired(s.o.Now()) {\n\t\treturn Record{}, errors.Join(ErrUnknown, s.drop(id, e))", "if false {\n\t\treturn Record{}, errors.Join(ErrUnknown, s.drop(id, e))",
		taskstore, "TestExpiryCountsFromCreationAndRemovesTheFile"},
}
