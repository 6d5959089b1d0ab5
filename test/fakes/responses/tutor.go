package responses

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Tutor makes the server answer texts that choose no scenario, for a person who tries the page without an account: the
// first one by a greeting and one command that needs an approval, later ones by what they ask for. It answers Japanese in
// Japanese. It is to be called before the first request.
func (s *Server) Tutor() { s.tutor = true }

// pace is the time between two words of the tutor.
const pace = 25 * time.Millisecond

// lesson is what the tutor does about one text.
type lesson struct {
	words []string // any of them chooses it
	english,
	japanese string
	do func(a *answer, n int)
}

var lessons = []lesson{
	{[]string{"file", "patch", "ファイル"}, "I would like to add this file. Look at the change, then decide.", "このファイルを追加したいと思います。変更を見て決めてください。",
		func(a *answer, n int) {
			a.custom("apply_patch", fmt.Sprintf("*** Begin Patch\n*** Add File: notes-%d.md\n+# Notes\n+\n+- written by a scripted model\n+- after you allowed it\n*** End Patch\n", n))
		}},
	{[]string{"question", "ask", "質問"}, "One question first.", "先に一つ質問があります。", func(a *answer, _ int) {
		a.call("", "request_user_input", `{"questions":[{"id":"colour","header":"Colour","question":"Which colour should the door have?","options":[{"label":"Green (Recommended)","description":"calm"},{"label":"Red","description":"easy to find"}]}]}`)
	}},
	{[]string{"permission", "権限"}, "I ask for more than I may now. Tick what you grant.", "今より広い権限をお願いします。許可するものを選んでください。", func(a *answer, _ int) {
		a.call("", "request_permissions", `{"reason":"to look something up","permissions":{"network":{"enabled":true}}}`)
	}},
	{[]string{"plan", "計画"}, "Here is my plan.", "計画です。", func(a *answer, _ int) {
		a.call("", "update_plan", `{"explanation":"three steps","plan":[{"step":"look around","status":"completed"},{"step":"ask before acting","status":"in_progress"},{"step":"tell what was done","status":"pending"}]}`)
	}},
	{[]string{"markdown", "long", "code", "コード"}, sample, sample, nil},
}

const sample = "## A longer answer\n\nText, **bold**, `code`, and a list:\n\n- links are inert until you click them: [example](https://example.com/)\n- pictures are not fetched: ![none](https://example.com/x.png)\n\n" +
	"```go\n// Greet says hello.\nfunc Greet(name string) string {\n\treturn \"Hello, \" + name\n}\n```\n\n| what | how |\n| --- | --- |\n| approve | by a click that you meant |\n"

const (
	helloEN = "Hello! I am no real model, only a scripted one that lets you look around. I would like to write the time into a file, outside the sandbox. The card below shows exactly what would run; nothing happens until you decide. "
	helloJA = "こんにちは。本物のモデルではなく、画面を試すための台本です。サンドボックスの外で、時刻をファイルに書き込みたいと思います。実行される内容はそのままカードに表示され、決めるまで何も起きません。"
	moreEN  = "Try: file, question, permission, plan, markdown. "
	moreJA  = "「ファイル」「質問」「権限」「計画」「コード」も試せます。"
)

// teach answers one request.
func (a *answer) teach(in input) {
	text, before, outputs := in.lastText()
	japanese := strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) })
	say := func(english, japaneseText string) {
		if japanese {
			english = japaneseText
		}
		a.says(a.typed(english))
	}
	if len(outputs) > 0 {
		last := []rune(outputs[len(outputs)-1].Text)
		shown := "```text\n" + strings.TrimSpace(string(last[:min(len(last), 400)])) + "\n```\n\n"
		say("That came back:\n\n"+shown+moreEN, "結果は次のとおりです。\n\n"+shown+moreJA)
		a.completed()
		return
	}
	lower := strings.ToLower(text)
	for _, l := range lessons {
		for _, w := range l.words {
			if !strings.Contains(lower, w) {
				continue
			}
			say(l.english, l.japanese)
			if l.do == nil {
				a.completed()
				return
			}
			l.do(a, a.n)
			return
		}
	}
	if before > 0 {
		say("You wrote "+strconv.Quote(text)+". I only know a few words. "+moreEN, "「"+text+"」ですね。知っている言葉はわずかです。"+moreJA)
		a.completed()
		return
	}
	say(helloEN, helloJA)
	a.call("", "exec_command", `{"cmd":"date > hello.txt && cat hello.txt","sandbox_permissions":"require_escalated","justification":"to show you an approval"}`)
}

// typed yields the words of s at a pace that a person can follow; Japanese has none, so it comes in short pieces.
func (a *answer) typed(s string) iter.Seq[string] {
	var pieces []string
	for word := range strings.SplitAfterSeq(s, " ") {
		for r := []rune(word); len(r) > 0; {
			n := min(len(r), 12)
			pieces, r = append(pieces, string(r[:n])), r[n:]
		}
	}
	return a.paced(len(pieces), pace, func(i int) string { return pieces[i] })
}
