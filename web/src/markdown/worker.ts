// Entry of the Markdown worker.
export {};
