package worker

import (
	"strings"

	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/visible"
)

// Limits of what is shown of one thing, in bytes.
const (
	titleBytes = 200
	pathBytes  = 1 << 10
	lineBytes  = 4 << 10
	wholeBytes = 1 << 20 // one text asked for by item.read
	maxFiles   = 200     // of one change
)

// summary projects the metadata of a thread. The preview has no limit on the wire; it is cut before anything reads it.
func summary(t codex.Thread) uicontract.ThreadSummary {
	title := t.Name
	if title == "" {
		title, _ = codex.Bound(t.Preview, titleBytes)
	}
	return uicontract.ThreadSummary{ID: t.ID, Title: visible.Line(title, titleBytes), Cwd: visible.Line(t.Cwd, pathBytes), Model: visible.Line(t.Model, 80),
		Status: status(t.Status), Ephemeral: t.Ephemeral, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt}
}

func status(s codex.ThreadStatus) uicontract.ThreadStatus {
	out := uicontract.ThreadStatus{Type: visible.Line(s.Type, 40)}
	for _, f := range s.ActiveFlags {
		out.WaitsApproval = out.WaitsApproval || f == codex.FlagWaitApproval
		out.WaitsInput = out.WaitsInput || f == codex.FlagWaitsUserInput
	}
	return out
}

// excerpt keeps the beginning of a text, tail its end.
func excerpt(s string, limit int) uicontract.Excerpt {
	kept, left := codex.Bound(s, limit)
	return uicontract.Excerpt{Text: valid(kept), Left: left}
}

func tail(s string, limit int) uicontract.Excerpt {
	kept, left := codex.BoundTail(s, limit)
	return uicontract.Excerpt{Text: valid(kept), Left: left, Tail: true}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// itemID names an item within its thread: the server's id alone is unique only within a turn.
func itemID(turn relay.TurnID, item relay.ItemID) string { return string(turn) + "/" + string(item) }

// project makes the contract's form of an item with its texts cut to limit. Whether it runs is not the item's word.
func project(turn relay.TurnID, i codex.Item, limit int) uicontract.Item {
	out := uicontract.Item{ID: itemID(turn, i.ID), Turn: turn, Type: visible.Line(i.Type, 80), Malformed: i.Malformed, Status: uicontract.ItemDone}
	text := func(s string) { e := excerpt(s, limit); out.Text = &e }
	note := func(s string) { out.Note = visible.Line(s, lineBytes) }
	switch b := i.Body.(type) {
	case *codex.UserMessage:
		text(userText(b))
	case *codex.AgentMessage:
		text(b.Text)
	case *codex.Plan:
		text(b.Text)
	case *codex.EnteredReview:
		text(b.Review)
	case *codex.ExitedReview:
		text(b.Review)
	case *codex.Reasoning:
		for _, p := range b.Summary {
			out.Reasoning = append(out.Reasoning, excerpt(p, limit))
		}
		for _, p := range b.Content {
			out.Content = append(out.Content, excerpt(p, limit))
		}
	case *codex.CommandExecution:
		out.Command = &uicontract.CommandItem{Shown: visible.Line(b.Command, lineBytes), ShownCwd: visible.Line(b.Cwd, pathBytes), Source: visible.Line(b.Source, 40), ExitCode: b.ExitCode}
		out.Status = statusWord(b.Status)
		if b.AggregatedOutput != nil {
			e := tail(*b.AggregatedOutput, limit)
			out.Text = &e
		}
	case *codex.FileChange:
		out.Status, out.Files = statusWord(b.Status), files(b.Changes, limit)
		if over := len(b.Changes) - maxFiles; over > 0 {
			note("…")
		}
	case *codex.McpToolCall:
		out.Status, out.Mcp = statusWord(b.Status), mcp(b, limit)
	case *codex.WebSearch:
		note(b.Query)
	case *codex.ImageView:
		note(b.Path)
	case *codex.ImageGeneration:
		note(b.SavedPath)
	case *codex.DynamicToolCall:
		note(b.Tool)
	case *codex.CollabCall:
		note(b.Tool)
	case *codex.SubAgentActivity:
		note(b.Kind)
	case *codex.FunctionCallOutput:
		note(b.Name)
	}
	return out
}

func statusWord(s string) uicontract.ItemStatus {
	switch s {
	case "inProgress":
		return uicontract.ItemRunning
	case "failed":
		return uicontract.ItemFailed
	case "declined":
		return uicontract.ItemDeclined
	}
	return uicontract.ItemDone
}

// userText is what a person sent, as text; other parts are named.
func userText(m *codex.UserMessage) string {
	var parts []string
	for _, c := range m.Content {
		switch c.Type {
		case "text":
			parts = append(parts, c.Text)
		default:
			parts = append(parts, "["+c.Type+" "+c.Name+c.Path+"]")
		}
	}
	return strings.Join(parts, "\n")
}

func files(changes []codex.FileUpdate, limit int) []uicontract.FileItem {
	list := make([]uicontract.FileItem, 0, min(len(changes), maxFiles))
	for _, c := range changes[:min(len(changes), maxFiles)] {
		f := uicontract.FileItem{ShownPath: visible.Line(c.Path, pathBytes), Kind: visible.Line(c.Kind.Type, 40), Diff: excerpt(c.Diff, limit)}
		if c.Kind.MovePath != "" {
			f.ShownMove = visible.Line(c.Kind.MovePath, pathBytes)
		}
		list = append(list, f)
	}
	return list
}

func mcp(c *codex.McpToolCall, limit int) *uicontract.McpItem {
	m := &uicontract.McpItem{Server: visible.Line(c.Server, 200), Tool: visible.Line(c.Tool, 200), Arguments: excerpt(string(c.Arguments), limit)}
	if c.Error != nil {
		m.Error = visible.Line(c.Error.Message, lineBytes)
	}
	if c.Result != nil {
		var b strings.Builder
		for _, part := range c.Result.Content {
			if b.Len() > wholeBytes {
				break
			}
			b.Write(part)
			b.WriteByte('\n')
		}
		e := excerpt(b.String(), limit)
		m.Result = &e
	}
	return m
}

func models(list []codex.Model) []uicontract.Model {
	out := make([]uicontract.Model, 0, len(list))
	for _, m := range list {
		if m.Hidden {
			continue
		}
		v := uicontract.Model{ID: visible.Line(m.Model, 100), Name: visible.Line(m.DisplayName, 100), About: visible.Line(m.Description, 500), Default: m.IsDefault,
			Effort: visible.Line(m.DefaultEffort, 40), Efforts: []string{}, Image: m.InputModalities == nil}
		for _, e := range m.Efforts {
			v.Efforts = append(v.Efforts, visible.Line(e.Effort, 40))
		}
		for _, modality := range m.InputModalities {
			v.Image = v.Image || modality == "image"
		}
		for _, t := range m.ServiceTiers {
			v.Tiers = append(v.Tiers, visible.Line(t.ID, 40))
		}
		out = append(out, v)
	}
	return out
}

func settings(cwd, model, provider string, approval codex.Raw, sandbox codex.SandboxPolicy, effort string) *uicontract.Settings {
	return &uicontract.Settings{Cwd: visible.Line(cwd, pathBytes), Model: visible.Line(model, 100), Provider: visible.Line(provider, 100),
		Approval: visible.Line(strings.Trim(string(approval), `"`), 200), Sandbox: visible.Line(sandbox.Type, 40), Effort: visible.Line(effort, 40)}
}
