// One item of a transcript.
import type { ComponentChildren } from "preact";
import type { Card, CommandItem, Excerpt, FileItem, Item, McpItem, Outcome, Step } from "../contract";
import { Icon, type IconName } from "../parts/Icon";
import { memo } from "../parts/memo";
import { Button, CopyButton, Details, ProblemNote, Scroller, Tag, useReach } from "../parts/parts";
import { bytes, num } from "../state/format";
import { current } from "../state/page";
import { texts, type Messages } from "../text";
import { code, prose } from "../visible";
import { settledText } from "../dock/settled";
import { blocks } from "../markdown/blocks";
import { Markdown } from "./Markdown";
import { diff, parts, type DiffLine } from "./rows";
import { forgetWhole, isOpen, key, readWhole, setOpen, whole } from "./state";

interface Props {
  item: Item;
  head: string;
  cards: readonly Card[];
  outcome: Outcome | undefined;
}

/** The body of an item's article; head is the id of its heading. */
export const ItemView = memo(function ItemView({ item, head, cards, outcome }: Props) {
  const thread = current.value;
  const read = whole.value.get(key(thread, item.id));
  const shown = read?.item && read.item.status === item.status ? { ...read.item, turnAt: item.turnAt } as Item : item;
  return (
    <>
      <Body item={shown} head={head} cards={cards} outcome={outcome} />
      {item.partial || item.cut ? <p class="foot bare">{item.partial ? <span>{texts.value.itemPartial}</span> : null}{item.cut ? <span>{texts.value.itemCut(bytes(item.cut))}</span> : null}</p> : null}
      {read?.problem ? (read.problem === "lost" ? <p class="err"><Icon name="warn" />{texts.value.lost}</p> : <ProblemNote problem={read.problem} />) : null}
      {read?.item ? <p class="foot bare"><Button kind="quiet" onClick={() => forgetWhole(thread, item.id)}>{texts.value.showLess}</Button></p> : null}
      <CardLines cards={cards} />
    </>
  );
});

function Body({ item, head, cards, outcome }: Props) {
  const m = texts.value;
  if (item.malformed) {
    return (
      <div class="note">
        <h2 class="item-h" id={head}><Icon name="warn" /><span class="who">{m.itemMalformed}</span> <code class="cmd">{item.type}</code></h2>
        <p class="muted">{m.itemMalformedWhy}</p>
      </div>
    );
  }
  switch (item.type) {
    case "userMessage":
      return <UserMessage item={item} head={head} outcome={outcome} />;
    case "agentMessage":
      return <AgentMessage item={item} head={head} />;
    case "plan":
      return <Prose item={item} head={head} icon="list" who={m.plan} />;
    case "enteredReviewMode":
      return <Prose item={item} head={head} icon="eye" who={m.reviewBegun} />;
    case "exitedReviewMode":
      return <Prose item={item} head={head} icon="eye" who={m.review} />;
    case "reasoning":
      return <Reasoning item={item} head={head} />;
    case "commandExecution":
      return item.command ? <Command item={item} command={item.command} head={head} cards={cards} /> : <Other item={item} head={head} />;
    case "fileChange":
      return <Files item={item} head={head} cards={cards} />;
    case "mcpToolCall":
      return item.mcp ? <Mcp item={item} mcp={item.mcp} head={head} cards={cards} /> : <Other item={item} head={head} />;
  }
  return <Other item={item} head={head} />;
}

// ---------------------------------------------------------------- messages

function UserMessage({ item, head, outcome }: { item: Item; head: string; outcome: Outcome | undefined }) {
  const m = texts.value;
  return (
    <>
      <h2 class="item-h" id={head}><span class="who">{m.you}</span>{outcome?.state === "delivered" ? <Tag icon="check">{m.delivered}</Tag> : null}</h2>
      <div class="body"><p class="typed">{prose(item.text?.text ?? "")}</p></div>
      <Foot item={item} excerpt={item.text} />
    </>
  );
}

function AgentMessage({ item, head }: { item: Item; head: string }) {
  const m = texts.value;
  const text = item.text?.text ?? "";
  const running = item.status === "running";
  return (
    <>
      <h2 class="item-h" id={head}>
        <span class="who">Codex</span>
        {running ? <span class="meta"><Icon name="arc" spin />{m.writing}</span> : null}
        {item.status === "abandoned" ? <Tag icon="stop">{m.cutOff}</Tag> : null}
      </h2>
      <div class="body">{running ? <Streaming excerpt={item.text} /> : <Markdown text={text} />}</div>
      {running ? null : <Foot item={item} excerpt={item.text} copy={m.copyMessage} always />}
    </>
  );
}

const shownWhileWriting = 16 << 10;

/** What is being written: finished blocks as Markdown, the tail as text. A long one shows its end. */
function Streaming({ excerpt }: { excerpt: Excerpt | undefined }) {
  const text = excerpt?.text ?? "";
  if ((excerpt?.left ?? 0) > 0 || text.length > shownWhileWriting) {
    const from = Math.max(0, text.length - (shownWhileWriting >> 1));
    const at = from === 0 ? 0 : text.indexOf("\n", from) + 1 || from;
    return <><p class="muted">{texts.value.earlierHidden}</p><p class="tail typed">{prose(text.slice(at))}</p></>;
  }
  const { done, tail } = blocks(text);
  return <>{done.map((b, i) => <Markdown key={i} text={b} />)}<p class="tail typed">{prose(tail)}</p></>;
}

function Prose({ item, head, icon, who }: { item: Item; head: string; icon: IconName; who: string }) {
  return (
    <>
      <h2 class="item-h" id={head}><Icon name={icon} /><span class="who">{who}</span></h2>
      <div class="body">{item.status === "running" ? <Streaming excerpt={item.text} /> : <Markdown text={item.text?.text ?? ""} />}</div>
      <Foot item={item} excerpt={item.text} />
    </>
  );
}

function Reasoning({ item, head }: { item: Item; head: string }) {
  const m = texts.value;
  const running = item.status === "running";
  const all = [...(item.reasoning ?? []), ...(item.content ?? [])];
  const empty = all.every((e) => e.text === "") && !item.text?.text;
  const heading = <h2 class="item-h" id={head}><Icon name="think" /><span class="who">{m.reasoning}</span>{running ? <span class="meta"><Icon name="arc" spin />{m.thinking}</span> : empty ? <span class="meta">{m.reasoningHidden}</span> : null}</h2>;
  if (empty) return <div class="fold">{heading}</div>;
  const id = item.id + "/reasoning";
  return (
    <Details class="fold" open={isOpen(id, false)} onToggle={(o) => setOpen(id, o)} summary={heading}>
      <div class="body quietly">
        {all.map((e, i) => running && i === all.length - 1 ? <p key={i} class="typed">{prose(e.text)}</p> : <Markdown key={i} text={e.text} />)}
        <Foot item={item} excerpt={all.find((e) => e.left)} />
      </div>
    </Details>
  );
}

// ---------------------------------------------------------------- commands, files, tools

const waits = (cards: readonly Card[]) => cards.some((c) => c.state === "pending" || c.state === "answering");

/** The way from an item to its request; outside the summary, in which nothing else may be used. */
function ToRequest({ cards }: { cards: readonly Card[] }) {
  return waits(cards) ? <p class="pad"><GoToRequest /></p> : null;
}

function status(m: Messages, item: Item, cards: readonly Card[]): ComponentChildren {
  if (waits(cards)) return <Tag icon="half" tone="attn">{m.waitingForYou}</Tag>;
  switch (item.status) {
    case "running":
      return <Tag icon="arc" spin>{m.running}</Tag>;
    case "declined":
      return <Tag icon="cross">{m.declined}</Tag>;
    case "abandoned":
      return <Tag icon="stop">{m.cutOff}</Tag>;
    case "failed":
      return item.command?.exitCode === undefined ? <Tag icon="cross" tone="bad">{m.failed}</Tag> : null;
  }
  return null;
}

export function GoToRequest() {
  return <a {...useReach()} class="meta go" href="#needs" onClick={(e) => { e.preventDefault(); document.getElementById("h-needs")?.focus(); }}>{texts.value.goToRequest}</a>;
}

function Command({ item, command, head, cards }: { item: Item; command: CommandItem; head: string; cards: readonly Card[] }) {
  const m = texts.value;
  const exit = command.exitCode;
  const bad = exit !== undefined && exit !== 0;
  const output = item.text?.text ?? "";
  const heading = (
    <h2 class="item-h" id={head}>
      <Icon name="term" /><span class="vh">{m.command} </span><code class="cmd">{command.shown}</code>
      {bad ? <Tag icon="cross" tone="bad">{m.exit(exit)}</Tag> : exit === 0 ? <Tag icon="check" tone="good">{m.exit(0)}</Tag> : null}
      {status(m, item, cards)}
    </h2>
  );
  const id = item.id + "/command";
  const foot = <Foot item={item} excerpt={item.text} {...(output ? { copy: m.copyOutput } : {})} always end={command.shownCwd} />;
  return (
    <Details class="card" open={isOpen(id, bad || item.status === "running" || item.status === "failed")} onToggle={(o) => setOpen(id, o)} summary={heading}>
      <ToRequest cards={cards} />
      {output ? <Scroller class="out" label={m.commandOutput}>{code(output)}</Scroller> : <p class="muted pad">{item.status === "running" ? m.noOutputYet : m.noOutput}</p>}
      {foot}
    </Details>
  );
}

function Files({ item, head, cards }: { item: Item; head: string; cards: readonly Card[] }) {
  const m = texts.value;
  const files = item.files ?? [];
  const counts = files.map((f) => count(f));
  const total = counts.every((c) => c) ? counts.reduce<{ ins: number; del: number }>((a, c) => ({ ins: a.ins + (c?.ins ?? 0), del: a.del + (c?.del ?? 0) }), { ins: 0, del: 0 }) : undefined;
  const id = item.id + "/files";
  const asks = item.status === "running" || cards.some((c) => c.state === "pending");
  const heading = (
    <h2 class="item-h" id={head}>
      <Icon name="file" /><span class="who">{asks ? m.changesFiles(files.length) : item.status === "done" ? m.changedFiles(files.length) : m.changeOfFiles(files.length)}</span>
      {total ? <Counts {...total} /> : null}{status(m, item, cards)}
    </h2>
  );
  return (
    <Details class="card" open={isOpen(id, true)} onToggle={(o) => setOpen(id, o)} summary={heading}>
      <ToRequest cards={cards} />
      {files.map((f, i) => <FileDiff key={i} file={f} id={id + i} first={i === 0} />)}
      {item.shownNote ? <p class="muted pad">{m.moreFiles}</p> : null}
      <Foot item={item} excerpt={files.find((f) => f.diff.left)?.diff} />
    </Details>
  );
}

function Counts({ ins, del }: { ins: number; del: number }) {
  return <span class="meta">{ins > 0 || del === 0 ? <span class="ins-n">+{num(ins)}</span> : null} {del > 0 ? <span class="del-n">−{num(del)}</span> : null}</span>;
}

function count(f: FileItem): { ins: number; del: number } | undefined {
  if (f.diff.left) return undefined;
  const lines = diff(f.kind, f.diff.text);
  return { ins: lines.filter((l) => l.kind === "ins").length, del: lines.filter((l) => l.kind === "del").length };
}

function FileDiff({ file, id, first }: { file: FileItem; id: string; first: boolean }) {
  const m = texts.value;
  const c = count(file);
  const word = file.kind === "add" ? m.fileNew : file.kind === "delete" ? m.fileDeleted : "";
  return (
    <Details class="diff" open={isOpen(id, first)} onToggle={(o) => setOpen(id, o)} summary={
      <h3><span class="lnk">{file.shownPath}{file.shownMove ? <> → {file.shownMove}</> : null}</span> <span class="meta">{word}</span> {c ? <Counts {...c} /> : null}</h3>
    }>
      {file.diff.text === "" ? <p class="muted pad">{m.emptyChange}</p> : <DiffLines label={m.changesIn(file.shownPath)} lines={diff(file.kind, file.diff.text)} />}
    </Details>
  );
}

export function DiffLines({ label, lines }: { label: string; lines: readonly DiffLine[] }) {
  return (
    <Scroller class="" label={label}>
      {lines.map((l, i) => l.kind === "ins" ? <ins key={i}>{"+ " + code(l.text)}</ins> : l.kind === "del" ? <del key={i}>{"− " + code(l.text)}</del> : <span key={i} class={l.kind}>{(l.kind === "ctx" ? "  " : "") + code(l.text)}</span>)}
    </Scroller>
  );
}

function Mcp({ item, mcp, head, cards }: { item: Item; mcp: McpItem; head: string; cards: readonly Card[] }) {
  const m = texts.value;
  const id = item.id + "/mcp";
  const heading = (
    <h2 class="item-h" id={head}>
      <Icon name="plug" /><span class="who">{mcp.shownServer}</span> <code class="cmd">{mcp.shownTool}</code>
      {item.status === "done" ? <Tag icon="check" tone="good">{m.done}</Tag> : null}{status(m, item, cards)}<span class="meta">MCP</span>
    </h2>
  );
  const args = mcp.arguments.text;
  return (
    <Details class="card" open={isOpen(id, item.status === "failed" || item.status === "running")} onToggle={(o) => setOpen(id, o)} summary={heading}>
      <ToRequest cards={cards} />
      {args && args !== "null" && args !== "{}" ? <div class="part"><p class="lbl">{m.arguments}</p><Scroller class="out" label={m.arguments}>{code(pretty(args))}</Scroller></div> : <p class="muted pad">{m.noArguments}</p>}
      {mcp.result ? <div class="part"><p class="lbl">{m.result}</p>{parts(mcp.result.text).map((p, i) =>
        "mime" in p
          ? <p key={i} class="chip"><Icon name="image" />{p.kind === "image" ? m.imageBlocked : m.audioBlocked} <span class="muted">{[p.mime, p.bytes ? bytes(p.bytes) : ""].filter(Boolean).join(", ")}</span></p>
          : <Scroller key={i} class="out" label={m.result}>{code(p.text)}</Scroller>)}</div> : null}
      {mcp.shownError ? <p class="err pad"><Icon name="warn" /><q>{mcp.shownError}</q></p> : null}
      <Foot item={item} excerpt={mcp.result?.left ? mcp.result : mcp.arguments} {...(mcp.result ? { copy: m.copyResult } : {})} />
    </Details>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function Other({ item, head }: { item: Item; head: string }) {
  const m = texts.value;
  const known: Record<string, [IconName, string]> = {
    webSearch: ["find", m.webSearch], imageView: ["image", m.imageViewed], imageGeneration: ["image", m.imageGenerated], contextCompaction: ["list", m.compacted],
    dynamicToolCall: ["plug", m.toolCall], collabAgentToolCall: ["plug", m.agentCall], subAgentActivity: ["plug", m.agentCall], functionCallOutput: ["plug", m.toolCall],
  };
  const k = known[item.type];
  return (
    <>
      <h2 class="item-h" id={head}>
        <Icon name={k ? k[0] : "ring"} /><span class="who">{k ? k[1] : m.unknownItem}</span> {k ? null : <code class="cmd">{item.type}</code>}
        {item.shownNote ? <code class="cmd">{item.shownNote}</code> : null}{status(m, item, [])}
      </h2>
      {k ? null : <p class="muted pad-i">{m.unknownItemWhy}</p>}
      {item.text?.text ? <div class="body"><p class="typed">{prose(item.text.text)}</p></div> : null}
    </>
  );
}

// ---------------------------------------------------------------- plan, foot, cards

export function Plan({ steps, head }: { steps: readonly Step[]; head: string }) {
  const m = texts.value;
  const done = steps.filter((s) => s.status === "completed").length;
  return (
    <>
      <h2 class="item-h" id={head}><Icon name="list" /><span class="who">{m.plan}</span> <span class="meta">{m.planDone(done, steps.length)}</span></h2>
      <ol class="plan body">
        {steps.map((s, i) => s.status === "completed"
          ? <li key={i} class="done"><Icon name="check" /><span><span class="vh">{m.stepDone} </span>{s.shown}</span></li>
          : s.status === "inProgress"
            ? <li key={i} class="now" aria-current="step"><Icon name="half" /><span><span class="vh">{m.stepNow} </span>{s.shown}</span></li>
            : <li key={i}><Icon name="ring" /><span><span class="vh">{m.stepTodo} </span>{s.shown}</span></li>)}
      </ol>
    </>
  );
}

/** Says who left out what, and offers the whole. */
function Foot({ item, excerpt, copy, always, end }: { item: Item; excerpt: Excerpt | undefined; copy?: string; always?: boolean; end?: string }) {
  const m = texts.value;
  const thread = current.value;
  const read = whole.value.get(key(thread, item.id));
  const left = excerpt?.left ?? 0;
  if (left === 0 && !(always && copy) && !end) return null;
  const text = async () => (left > 0 && !read?.item ? await readWhole(thread, item.id) : undefined) ?? item;
  return (
    <p class="foot">
      {left > 0 ? <span>{excerpt?.tail ? m.leftBefore(bytes(left)) : m.leftAfter(bytes(left))}</span> : null}
      {left > 0 && !read?.item ? <Button kind="quiet" busy={read?.busy} onClick={() => { if (!read?.busy) void readWhole(thread, item.id); }}>{m.showAll}</Button> : null}
      {copy ? <CopyButton label={copy} text={async () => { const i = await text(); return i.mcp ? i.mcp.result?.text ?? "" : i.text?.text ?? ""; }} /> : null}
      {end ? <span class="muted">{end}</span> : null}
    </p>
  );
}

/** How requests about this item ended: one line each. */
function CardLines({ cards }: { cards: readonly Card[] }) {
  const m = texts.value;
  const settled = cards.filter((c) => c.state !== "pending" && c.state !== "answering");
  if (settled.length === 0) return null;
  return <ul class="cardlines">{settled.map((c) => { const s = settledText(m, c); return <li key={c.id}><Icon name={s.icon} tone={s.tone} /><span>{s.text}</span></li>; })}</ul>;
}
