package worker

import (
	"sekisho/internal/relay"
	"sekisho/internal/relay/codex"
	"sekisho/internal/relay/uicontract"
	"sekisho/internal/visible"
)

// apply takes in one notification of the live session; the lock is held. Threads of other clients announce themselves and
// change status unasked (R-CONN-08): they reach the list, never a thread that is shown as ours.
func (s *session) apply(n codex.Notification) {
	w, p := s.w, s.part
	switch n := n.(type) {
	case *codex.ThreadStarted:
		_, known := p.threads[n.Thread.ID]
		t := p.note(n.Thread, true)
		t.summary.Foreign = t.summary.Foreign || !known
		w.emitSummary(p, t)
	case *codex.ThreadStatusChanged:
		s.changeThread(n.ThreadID, func(t *thread) { t.summary.Status = status(n.Status) })
	case *codex.ThreadNameUpdated:
		s.changeThread(n.ThreadID, func(t *thread) { t.summary.Title = visible.Line(n.ThreadName, titleBytes) })
	case *codex.ThreadSettingsUpdated:
		g := n.Settings
		s.changeThread(n.ThreadID, func(t *thread) {
			t.settings = settings(g.Cwd, g.Model, g.ModelProvider, g.ApprovalPolicy, g.SandboxPolicy, g.Effort)
		})
	case *codex.TokenUsageUpdated:
		u := n.TokenUsage
		s.changeThread(n.ThreadID, func(t *thread) {
			t.usage = &uicontract.Usage{Total: u.Total.TotalTokens, Last: u.Last.TotalTokens, Window: u.ModelContextWindow}
		})
	case *codex.ThreadNote:
		s.noteThread(n)
	case *codex.TurnPlan:
		s.changeThread(n.ThreadID, func(t *thread) { t.plan = plan(n.Plan) })
	case *codex.ItemStarted, *codex.ItemCompleted, *codex.ItemDelta, *codex.ReasoningPartAdded, *codex.PatchUpdated, *codex.TurnStarted, *codex.TurnDone:
		s.progress(n)
	case *codex.ErrorNote:
		w.notify(uicontract.Notice{Kind: uicontract.NoticeError, Thread: n.ThreadID, Shown: visible.Line(n.Error.Message, noticeBytes)})
	case *codex.Warning:
		w.notify(uicontract.Notice{Kind: uicontract.NoticeWarning, Thread: n.ThreadID, Shown: visible.Line(n.Text, noticeBytes)})
	case *codex.DeprecationNotice:
		w.notify(uicontract.Notice{Kind: uicontract.NoticeDeprecation, Shown: visible.Line(n.Summary, noticeBytes)})
	case *codex.ConfigWarning:
		w.notify(uicontract.Notice{Kind: uicontract.NoticeWarning, Shown: visible.Line(n.Summary+" "+n.Path, noticeBytes)})
	case *codex.McpStartup:
		if n.Status == "failed" || n.Status == "cancelled" {
			w.notify(uicontract.Notice{Kind: uicontract.NoticeMcp, Thread: n.ThreadID, Shown: visible.Line(n.Name+": "+n.Status+" "+n.Error, noticeBytes)})
		}
	case *codex.ModelRerouted:
		w.notify(uicontract.Notice{Kind: uicontract.NoticeModel, Thread: n.ThreadID, Shown: visible.Line(n.FromModel+" → "+n.ToModel+" "+n.Reason, noticeBytes)})
	}
}

const noticeBytes = 1 << 10

// changeThread changes the head of a known thread; the lock is held. An unknown one has nothing to change yet: its
// metadata comes with the list or an announcement.
func (s *session) changeThread(id relay.ThreadID, change func(*thread)) {
	t := s.part.threads[id]
	if t == nil {
		return
	}
	before := t.summary
	change(t)
	if t.summary != before {
		s.w.emitSummary(s.part, t)
	}
	if t.open {
		s.w.emitHead(s.part, t)
	}
}

func (s *session) noteThread(n *codex.ThreadNote) {
	t := s.part.threads[n.ThreadID]
	if t == nil {
		return
	}
	switch n.Name {
	case "thread/archived", "thread/deleted":
		s.part.remove(n.ThreadID)
		s.w.emit(uicontract.EvThreadGone, &uicontract.ThreadRef{Thread: n.ThreadID})
	case "thread/closed":
		t.mode = uicontract.Viewing
		if t.open {
			s.w.emitHead(s.part, t)
		}
	case "thread/reverted":
		if t.open {
			s.resyncSoon(n.ThreadID)
		}
	}
}

func plan(steps []codex.PlanStep) []uicontract.Step {
	out := make([]uicontract.Step, 0, min(len(steps), maxSteps))
	for _, st := range steps[:min(len(steps), maxSteps)] {
		out = append(out, uicontract.Step{Text: visible.Line(st.Step, noticeBytes), Status: visible.Line(st.Status, 40)})
	}
	return out
}

const maxSteps = 100

// emitSummary tells about one line of the thread list; the lock is held.
func (w *Worker) emitSummary(p *partition, t *thread) {
	if w.part == p {
		w.emit(uicontract.EvThreads, &uicontract.Threads{Threads: []uicontract.ThreadSummary{t.summary}, More: p.cursor != "", Upsert: true})
	}
}
