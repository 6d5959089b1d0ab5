package matrix

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// proves A-PRI-05
func TestStatusOfARow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		judge  func(ctx context.Context, env Env, r *Report)
		status Status
		detail string
	}{
		{"nothing shown", func(context.Context, Env, *Report) {}, Blocked, "nothing was shown"},
		{"all shown", func(_ context.Context, _ Env, r *Report) { r.Pass("a"); r.Check("b", true, "") }, Passed, "2 shown"},
		{"a control that did not work", func(_ context.Context, _ Env, r *Report) { r.Pass("a"); r.Block("b", "no effect") }, Blocked, "b: no effect"},
		{"a failure outweighs", func(_ context.Context, _ Env, r *Report) {
			r.Pass("a")
			r.Block("b", "no effect")
			r.Check("c", false, "it worked %d times", 2)
		}, Failed, "c: it worked 2 times"},
		{"a judge that panics", func(_ context.Context, _ Env, r *Report) { r.Pass("a"); panic("oh") }, Failed, "the judge itself: panic: oh"},
		{"a judge that waits for ever", func(ctx context.Context, _ Env, r *Report) { <-ctx.Done(); r.Fail("x", "%v", ctx.Err()) }, Failed, "x: context deadline exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				row := judge(t.Context(), Env{}, Case{ID: "ST-1", Judge: tt.judge})
				if row.Status != tt.status || row.Detail != tt.detail {
					t.Errorf("got %s %q, want %s %q", row.Status, row.Detail, tt.status, tt.detail)
				}
			})
		})
	}
}

func TestRowsRunInOrderAndOnce(t *testing.T) {
	pass := func(_ context.Context, _ Env, r *Report) { r.Pass("x") }
	env := Env{Only: []string{"ST-901", "AC-902", "ST-900"}}
	for _, id := range []string{"AC-902", "ST-901", "ST-900", "ST-903"} {
		env.Extra = append(env.Extra, Case{ID: id, Judge: pass})
	}
	var told []string
	rows := Run(t.Context(), env, func(r Row) { told = append(told, r.ID) })
	var got []string
	for _, r := range rows {
		got = append(got, r.ID)
		if r.Elapsed < 0 || r.Elapsed > time.Minute {
			t.Errorf("%s took %v", r.ID, r.Elapsed)
		}
	}
	want := []string{"ST-900", "ST-901", "AC-902"}
	if diff := cmp.Diff([][]string{want, want}, [][]string{got, told}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rows := Run(ctx, env, nil); len(rows) != 0 {
		t.Errorf("after the end of the context: %v", rows)
	}
}

func TestIDsAreUnique(t *testing.T) {
	var ids []string
	for _, c := range Cases(Env{}) {
		if c.Title == "" || c.Expected == "" || c.Judge == nil {
			t.Errorf("%+v is incomplete", c)
		}
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		t.Errorf("an id is used twice: %v", ids)
	}
}
