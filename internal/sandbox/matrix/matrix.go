// Package matrix is the security matrix ST-01..27 and the attack cases, as data that every backend runs.
//
// A row is judged by what happened on the host: bytes of files, what a listener received, which processes live. Nothing
// that a program inside says about a refusal is believed. A row that claims a refusal has a control: the same program on a
// twin fixture, unconfined and as the same user, must produce the very effect. Without a working control the refusal
// may have another cause, so the row is Blocked and never Passed.
//
// Adding a row: a Case in the file of its subject, with the effect as a function of the host; refused for what must not
// happen, succeeds for what must. Break the guard once by hand and see the row fail.
package matrix

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// Status is the outcome of a row.
type Status string

// The outcomes. Blocked means that nothing was shown: a control did not work, or the machine lacks what the row needs.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Blocked Status = "blocked"
)

// Row is one judged case.
type Row struct {
	ID, Title, Expected string
	Status              Status
	// Detail says what was seen: the failures, or how much was shown.
	Detail  string
	Elapsed time.Duration
}

// Case is one row to be judged. ID begins with ST- (section 13 of the specification) or AC- (attack cases).
type Case struct {
	ID, Title, Expected string
	// Judge reports everything that it saw to r. It returns when nothing of it runs any more.
	Judge func(ctx context.Context, env Env, r *Report)
}

// Env is what a run works with.
type Env struct {
	Backend sandbox.Backend
	// Payload is the hostile program (test/payload), executable by this user.
	Payload string
	// Dir is an empty directory of this user that every user may enter; fixtures are made below and left to the caller.
	Dir string
	// Cgroup is sandbox.resources.cgroup.
	Cgroup string
	// Instance is part of the names of OS resources.
	Instance string
	// Given is what MakeGiven made for this user, or "" when nobody could.
	Given string
	// Roots opens the file tools' view of a policy.
	Roots func([]sandbox.Root) (*rootio.Set, error)
	// Race is how long a race is run.
	Race time.Duration
	// Extra are rows about the program around the sandbox: configuration, tools, protocol, recovery.
	Extra []Case
	// Only limits the run to the rows with these ids; empty means all.
	Only []string
}

// caseTime bounds one row. Only a hang takes that long.
const caseTime = 10 * time.Minute

// Cases returns the rows of this operating system and those of env, in the order of their ids.
func Cases(env Env) []Case {
	all := append(append([]Case(nil), cases...), env.Extra...)
	sortCases(all)
	return all
}

// Run judges every case, one after another, and calls done after each. It returns early only when ctx ends.
func Run(ctx context.Context, env Env, done func(Row)) []Row {
	var rows []Row
	for _, c := range Cases(env) {
		if ctx.Err() != nil {
			break
		}
		if !wanted(env.Only, c.ID) {
			continue
		}
		row := judge(ctx, env, c)
		rows = append(rows, row)
		if done != nil {
			done(row)
		}
	}
	return rows
}

func wanted(only []string, id string) bool {
	for _, o := range only {
		if o == id {
			return true
		}
	}
	return len(only) == 0
}

func judge(ctx context.Context, env Env, c Case) Row {
	ctx, cancel := context.WithTimeout(ctx, caseTime)
	defer cancel()
	r := &Report{}
	begun := time.Now()
	func() {
		defer func() {
			// A row that panics has shown nothing; the others still count.
			if p := recover(); p != nil {
				r.Fail("the judge itself", "panic: %v", p)
			}
		}()
		c.Judge(ctx, env, r)
	}()
	status, detail := r.outcome()
	return Row{ID: c.ID, Title: c.Title, Expected: c.Expected, Status: status, Detail: detail, Elapsed: time.Since(begun)}
}

// Report collects what a case saw. It is not safe for concurrent use.
type Report struct {
	shown           int
	failed, blocked []string
}

// Pass records one thing that was shown.
func (r *Report) Pass(string) { r.shown++ }

// Fail records one thing that was not as expected.
func (r *Report) Fail(what, format string, args ...any) {
	r.failed = append(r.failed, what+": "+fmt.Sprintf(format, args...))
}

// Block records one thing that could not be shown.
func (r *Report) Block(what, format string, args ...any) {
	r.blocked = append(r.blocked, what+": "+fmt.Sprintf(format, args...))
}

// Check records a comparison of the expected with what was seen.
func (r *Report) Check(what string, ok bool, format string, args ...any) {
	if ok {
		r.Pass(what)
	} else {
		r.Fail(what, format, args...)
	}
}

func (r *Report) outcome() (Status, string) {
	switch {
	case len(r.failed) > 0:
		return Failed, strings.Join(r.failed, "; ")
	case len(r.blocked) > 0:
		return Blocked, strings.Join(r.blocked, "; ")
	case r.shown == 0:
		return Blocked, "nothing was shown"
	}
	return Passed, fmt.Sprintf("%d shown", r.shown)
}
