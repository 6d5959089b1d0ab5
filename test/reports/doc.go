// Package reports holds one test per row of docs/cases/relay-reports.md that no room tests by itself: what public reports
// say went wrong in other clients of app-server. Each drives the real worker through its endpoint with a headless front
// end, against the scriptable fake server, and asserts what was sent. `// report NN` above a test names its row;
// arch/ checks that every row has one, here or elsewhere, or says why it is later.
package reports
