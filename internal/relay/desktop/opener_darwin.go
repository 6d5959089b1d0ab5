package desktop

func opener(target string) (string, []string) { return "open", []string{target} }
