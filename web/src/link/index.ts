export { createLink } from "./browser";
export * from "./types";
