package planner

import (
	"encoding/json"
	"fmt"
	"strings"
)

// planSchema is what a plan call sends in format. Members are enforced in this order, so a task is described before it is
// estimated. The limits keep a model from filling its window with one string or list (A-OLL-08); llama.cpp refuses
// grammars with more than 2,000 repetitions.
const planSchema = `{"type":"object","properties":{"tasks":{"type":"array","minItems":1,"maxItems":%[1]d,"items":{"type":"object","properties":{` +
	`"id":{"type":"string","minLength":1,"maxLength":%[2]d,"pattern":"^[A-Za-z0-9_.-]+$"},` +
	`"description":{"type":"string","minLength":1,"maxLength":%[3]d},` +
	`"depends_on":{"type":"array","maxItems":%[1]d,"items":{"type":"string","minLength":1,"maxLength":%[2]d}},` +
	`"budget_class":{"type":"string","enum":[%[4]s]},` +
	`"optimistic_tokens":{"type":"integer","minimum":1,"maximum":%[5]d},` +
	`"most_likely_tokens":{"type":"integer","minimum":1,"maximum":%[5]d},` +
	`"pessimistic_tokens":{"type":"integer","minimum":1,"maximum":%[5]d},` +
	`"requires_external_effect":{"type":"boolean"},` +
	`"required_tools":{"type":"array","maxItems":%[6]d,"items":{"type":"string","enum":[%[7]s]}}},` +
	`"required":["id","description","depends_on","budget_class","optimistic_tokens","most_likely_tokens","pessimistic_tokens","requires_external_effect","required_tools"],` +
	`"additionalProperties":false}}},"required":["tasks"],"additionalProperties":false}`

// Schema is the JSON Schema of a plan of at most maxTasks tasks.
func Schema(maxTasks int) json.RawMessage {
	largest := budgetClasses[len(budgetClasses)-1].Max()
	return json.RawMessage(fmt.Sprintf(planSchema, maxTasks, MaxIDLength, MaxDescriptionLength, quoted(budgetClasses), largest, len(tools), quoted(tools)))
}

// quoted joins constants of this package; none of them needs escaping.
func quoted[S ~string](names []S) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = `"` + string(n) + `"`
	}
	return strings.Join(out, ",")
}
