package responses

import (
	"encoding/json"
	"strings"
)

// input is the part of a request that chooses the answer.
type input struct {
	Model string `json:"model"`
	Tools []struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"tools"`
	Input []item `json:"input"`
}

type item struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
}

// texts returns the texts of a message; content that is no list of parts has none.
func (i item) texts() []string {
	var parts []struct {
		Text string `json:"text"`
	}
	if i.Type != "message" || json.Unmarshal(i.Content, &parts) != nil {
		return nil
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// scenario returns the last one that the user chose, and the tool outputs after it.
func (in input) scenario() (string, []Output) {
	chosen, after := unchosen, 0
	for n, i := range in.Input {
		if i.Role != "user" {
			continue
		}
		for _, t := range i.texts() {
			if s, ok := strings.CutPrefix(t, "SCN "); ok {
				chosen, after = s, n+1
			}
		}
	}
	var outputs []Output
	for _, i := range in.Input[after:] {
		if strings.HasSuffix(i.Type, "_output") {
			outputs = append(outputs, Output{i.Type, outputText(i.Output)})
		}
	}
	return chosen, outputs
}

// unchosen is what is done about a text that chooses no scenario.
const unchosen = "text ok"

// outputText returns a string as it is and anything else as JSON.
func outputText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// tools names what the model may call; the tools of a namespace stand behind its name.
func (in input) tools() []string {
	var names []string
	for _, t := range in.Tools {
		name := t.Name
		if name == "" {
			name = t.Type
		}
		names = append(names, name)
		for _, inner := range t.Tools {
			names = append(names, name+"."+inner.Name)
		}
	}
	return names
}

// lastText returns the last text that a person wrote, how many came before it, and the tool outputs after it. What the CLI
// tells the model by itself, such as its environment, is in tags.
func (in input) lastText() (text string, before int, outputs []Output) {
	texts, after := 0, 0
	for n, i := range in.Input {
		if i.Role != "user" {
			continue
		}
		for _, t := range i.texts() {
			if !strings.HasPrefix(t, "<") && !strings.HasPrefix(t, "# AGENTS.md") {
				text, after = t, n+1
				texts++
			}
		}
	}
	for _, i := range in.Input[after:] {
		if strings.HasSuffix(i.Type, "_output") {
			outputs = append(outputs, Output{i.Type, outputText(i.Output)})
		}
	}
	return text, max(0, texts-1), outputs
}
