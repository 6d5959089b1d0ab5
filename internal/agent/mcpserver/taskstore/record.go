// Package taskstore keeps MCP tasks on disk: one file a task, written through before its id is told to anybody, immutable
// once it is terminal, gone when its time is over (A-MCP-12).
//
//	instances/<id>/mcp-tasks/<task-id>.json    user-only, replaced as a whole
//
// A server writes only below its own instance directory. Records of living servers are read by themselves alone; those of
// ended ones by every server (A-TX-06). A recovery makes what an ended server left unfinished failed.
//
// Threat: files that somebody else wrote. A record is read by its exact name, never through a link, at most recordLimit
// bytes, with a closed set of members, and must name the instance and the task that it is filed under. Whatever does not is
// no record: it is answered as unknown, and a recovery removes it.
//
// Lock order: Store.mu is never held during an effect; entry.mu is, and may be followed by Store.mu.
package taskstore

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"sekisho/internal/strictjson"
)

// Dir is the directory of the records below an instance directory.
const Dir = "mcp-tasks"

const (
	schemaVersion = 1
	suffix        = ".json"
	// recordLimit bounds one record in bytes: a result of ResultLimit bytes in which every byte is an escape, and the rest.
	recordLimit = 6*ResultLimit + 64<<10
	// skew is how far in the future a record's creation may lie before its clock is not believed.
	skew = 24 * time.Hour
)

// maxPoll is the longest interval that a client is told.
const maxPoll = time.Hour

// ResultLimit bounds the text of a result, in bytes.
const ResultLimit = 1 << 20

// messageLimit bounds a status message and an error's message, in bytes.
const messageLimit = 4 << 10

// Status of an MCP task.
type Status string

// The statuses of the Tasks extension; the last three are terminal.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Terminal reports whether s is never left.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// Outcome is how a task ended: Status is terminal, Result belongs to completed, Error to failed.
type Outcome struct {
	Status  Status
	Message string // status message, localized
	Result  *Result
	Error   *Error
}

// Result is the text of a tool result.
type Result struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`
}

// Error is a JSON-RPC error.
type Error struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// Record is one task as it lies on disk.
type Record struct {
	SchemaVersion  int       `json:"schema_version"`
	Instance       string    `json:"instance"`
	TaskID         string    `json:"task_id"`
	Status         Status    `json:"status"`
	StatusMessage  string    `json:"status_message"`
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"last_updated_at"`
	TTLMs          int64     `json:"ttl_ms"` // time to live from CreatedAt in milliseconds
	PollIntervalMs int64     `json:"poll_interval_ms"`
	Result         *Result   `json:"result,omitempty"`
	Error          *Error    `json:"error,omitempty"`
}

// Expired reports whether the record's time is over at now. A creation far in the future is no reason to keep it for ever.
func (r *Record) Expired(now time.Time) bool {
	return r.CreatedAt.Sub(now) > skew || now.Sub(r.CreatedAt) >= time.Duration(r.TTLMs)*time.Millisecond
}

// ended is r with an outcome.
func (r Record) ended(o Outcome, now time.Time) Record {
	r.Status, r.StatusMessage, r.Result, r.Error, r.UpdatedAt = o.Status, o.Message, o.Result, o.Error, stamp(now)
	return r
}

// stamp is a time as records hold it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// maxTTL keeps a time to live inside a time.Duration, with room for a sum.
const maxTTL = int64(1<<62) / int64(time.Millisecond)

// check reports why r is no record.
func (r *Record) check() error {
	if r.SchemaVersion != schemaVersion {
		return fmt.Errorf("schema version %d", r.SchemaVersion)
	}
	if !ValidID(r.TaskID) {
		return errors.New("task id")
	}
	switch r.Status {
	case Working, InputRequired, Completed, Failed, Cancelled:
	default:
		return errors.New("status")
	}
	switch {
	case (r.Status == Completed) != (r.Result != nil), (r.Status == Failed) != (r.Error != nil):
		return errors.New("status and result disagree")
	case r.CreatedAt.IsZero() || r.UpdatedAt.IsZero() || r.CreatedAt.Year() > 9999 || r.UpdatedAt.Year() > 9999:
		return errors.New("time")
	case r.TTLMs < 1 || r.TTLMs > maxTTL:
		return errors.New("time to live")
	case r.PollIntervalMs < 1 || r.PollIntervalMs > maxPoll.Milliseconds():
		return errors.New("poll interval")
	case len(r.StatusMessage) > messageLimit || r.Error != nil && len(r.Error.Message) > messageLimit:
		return errors.New("message too long")
	case r.Result != nil && len(r.Result.Text) > ResultLimit:
		return errors.New("result too long")
	}
	return nil
}

// decode reads a record that is filed under an instance and a task.
func decode(data []byte, instance, task string) (Record, error) {
	var r Record
	if err := strictjson.Unmarshal(data, recordLimit, &r); err != nil {
		return Record{}, err
	}
	if err := r.check(); err != nil {
		return Record{}, err
	}
	if r.Instance != instance || r.TaskID != task {
		return Record{}, errors.New("filed under another name")
	}
	return r, nil
}

func (r Record) encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	data, err := strictjson.Marshal(r)
	if err == nil && len(data) >= recordLimit {
		err = strictjson.ErrTooLarge
	}
	return append(data, '\n'), err
}

// ValidID reports whether id is what this package files a task under: a UUID in its canonical form. Nothing else ever
// becomes a part of a path.
func ValidID(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.String() == id
}

// fit bounds the texts of an outcome and makes them valid UTF-8.
func (o Outcome) fit() Outcome {
	o.Message = Cut(o.Message, messageLimit)
	if o.Result != nil {
		o.Result = &Result{Text: Cut(o.Result.Text, ResultLimit), IsError: o.Result.IsError}
	}
	if o.Error != nil {
		o.Error = &Error{Code: o.Error.Code, Message: Cut(o.Error.Message, messageLimit)}
	}
	return o
}

// ellipsis ends a text that was cut.
const ellipsis = "…"

// Cut returns s as valid UTF-8 of at most limit bytes; a cut text ends with an ellipsis.
func Cut(s string, limit int) string {
	s = toValid(s)
	if len(s) <= limit {
		return s
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}
