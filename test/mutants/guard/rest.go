package guard

var fileGuards, agentGuards []Guard
