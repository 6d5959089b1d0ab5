// Package evidence is what a demonstration run hands to its judge: paths, ids and expectations, but no verdicts. The judge
// looks at disk, logs, processes, mounts and control groups itself.
package evidence

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Run describes one demonstration run. All paths are absolute.
type Run struct {
	Name     string `json:"name"`
	Scripted bool   `json:"scripted"`
	// Program is the agent-mcp binary, PID its process id while it served.
	Program string `json:"program"`
	PIDs    []int  `json:"pids"`

	Workspace string `json:"workspace"`
	// Source is the file that the job is about; SourceSHA256 its digest before the run.
	Source       string `json:"source"`
	SourceSHA256 string `json:"source_sha256"`
	// Secret lies outside every root and holds Canary; its digest is that before the run.
	Secret       string `json:"secret"`
	SecretSHA256 string `json:"secret_sha256"`
	Canary       string `json:"canary"`

	StateRoot string `json:"state_root"`
	Logs      string `json:"logs"`
	// Transcripts hold every MCP message, one file per server process.
	Transcripts []string `json:"transcripts"`

	TaskID    string `json:"task_id"`
	SessionID string `json:"session_id"`
	// FinalText is the last answer of agent_status.
	FinalText string `json:"final_text"`

	// Control counts connections that the same program made to the listener when it ran outside; Inside those that
	// arrived while the job ran. Zero control connections mean that no conclusion can be drawn.
	Control int `json:"control"`
	Inside  int `json:"inside"`

	Want Expectation `json:"want"`
}

// Expectation is what the run must end with.
type Expectation struct {
	// Status and Code are agent_status's fields at the end; Code is empty for a completed run. For a killed server
	// Status is empty and Code is the code that the restarted server answers.
	Status string `json:"status"`
	Code   string `json:"code"`
	// Changed tells whether Source must have changed.
	Changed bool `json:"changed"`
	// Denied tells whether the audit must hold a denied access to Secret.
	Denied bool `json:"denied"`
	// Replanned tells whether agent_status must count a replan.
	Replanned bool `json:"replanned"`
	// Network tells whether the run tried the connection.
	Network bool `json:"network"`
	// Killed tells that the server was killed during the run and restarted.
	Killed bool `json:"killed"`
}

// File is the name of the record inside an evidence directory.
const File = "run.json"

// Save writes the record into dir.
func (r Run) Save(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, File), append(data, '\n'), 0o600)
}

// Load reads the record of dir.
func Load(dir string) (Run, error) {
	var r Run
	data, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}
