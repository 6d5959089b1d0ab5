package guard

var sandboxGuards, fileGuards, agentGuards []Guard
