package desktop

func opener(target string) (string, []string) { return "xdg-open", []string{target} }
