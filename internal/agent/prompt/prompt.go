// Package prompt composes what the model is told: the fixed system prompt, the planning contract, the locale instruction,
// the capability summary and the execution requirement, in the fixed orders of A-SES-02 and A-SES-06.
//
// The texts are part of the product and compiled in. They ask for behaviour; nothing depends on the model following them
// (A-PRI-01): scope, policy, verification and limits are enforced by code whatever the model answers. Records that may
// hold text of files or programs are given in user messages and labelled as data, never as system messages.
package prompt

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"sekisho/internal/agent"
)

//go:embed fixed.md
var fixed string

//go:embed planning.md
var planning string

//go:embed replanning.md
var replanning string

// Fixed is the fixed system prompt, context item 1.
func Fixed() string { return strings.TrimSpace(fixed) }

// Frame holds the parts that stay the same for a whole agent task.
type Frame struct {
	User       string // user system prompt, or ""
	Locale     string // locale name, such as en
	Skills     string // skill list, or ""
	Capability Capability
}

// Task is what the model is shown of a planner task.
type Task struct {
	ID, Description string
	DependsOn       []string
	State           agent.Status
	ExternalEffect  bool
	RequiredTools   []string
	Missing         []string // what is not yet proven about the running task
}

// PlannerContract is the read-only TaskGraph contract, the first system message of planning (A-SES-06).
func PlannerContract(maxTasks int) string {
	return strings.TrimSpace(strings.ReplaceAll(planning, "{max_tasks}", strconv.Itoa(maxTasks)))
}

// ReplanContract is the contract with the completed tasks and the reason, the first system message of replanning.
func ReplanContract(maxTasks int, tasks []Task, reason string) string {
	var completed, open []Task
	for _, t := range tasks {
		if t.State == agent.Completed {
			completed = append(completed, t)
		} else {
			open = append(open, t)
		}
	}
	return PlannerContract(maxTasks) + "\n" + strings.TrimRight(strings.NewReplacer(
		"{reason}", reason, "{completed}", list(completed), "{open}", list(open)).Replace(replanning), "\n")
}

// Locale is the locale instruction (A-LOC-02).
func Locale(name string) string {
	return fmt.Sprintf("Write every text meant for the user, such as task descriptions and answers, in %s, whatever language the request is in. "+
		"Keep paths, names, commands, code and quoted texts unchanged.", language(name))
}

func language(name string) string {
	switch base, _, _ := strings.Cut(name, "-"); base {
	case "en":
		return "English"
	case "ja":
		return "Japanese (日本語)"
	}
	return "the language of the locale " + strconv.Quote(name)
}

// Correction asks once for a valid plan, with the concrete reasons (A-PLAN-04).
func Correction(reasons []string) string {
	return "This plan was refused:\n- " + strings.Join(reasons, "\n- ") +
		"\nCorrect exactly these points and answer with the complete plan again, as one JSON object and nothing else."
}

func list(tasks []Task) string {
	if len(tasks) == 0 {
		return "(none)"
	}
	var b strings.Builder
	for _, t := range tasks {
		fmt.Fprintf(&b, "- %s [%s] required_tools=%s requires_external_effect=%t depends_on=%s: %s\n",
			t.ID, t.State, set(t.RequiredTools), t.ExternalEffect, set(t.DependsOn), t.Description)
	}
	return strings.TrimRight(b.String(), "\n")
}

func set(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
