// What one row of the transcript shows.
import { settledText } from "../dock/settled";
import { askTitle } from "../dock/title";
import { Icon } from "../parts/Icon";
import { memo } from "../parts/memo";
import { ProblemNote, Tag, Time } from "../parts/parts";
import { num } from "../state/format";
import { texts } from "../text";
import { GoToRequest, ItemView, Plan } from "./ItemView";
import { Uncertain } from "./Uncertain";
import type { Row } from "./rows";

export const RowView = memo(function RowView({ row, head }: { row: Row; head: string }) {
  const m = texts.value;
  switch (row.kind) {
    case "item":
      return row.outcome && row.outcome.state === "outcomeUnknown"
        ? <Uncertain outcome={row.outcome} head={head} />
        : <ItemView item={row.item} head={head} cards={row.cards} outcome={row.outcome} />;
    case "plan":
      return <Plan steps={row.steps} head={head} />;
    case "turnError":
      return (
        <div class="note bad">
          <h2 class="item-h" id={head}><Icon name="warn" /><span class="who">{m.turnFailed}</span></h2>
          {row.shown ? <p><q>{row.shown}</q></p> : null}
          <p class="muted">{m.turnFailedWhat}</p>
        </div>
      );
    case "outcome":
      return row.outcome.state === "outcomeUnknown" ? <Uncertain outcome={row.outcome} head={head} /> : (
        <>
          <h2 class="item-h" id={head}><span class="who">{m.you}</span> <Tag icon="arc" spin>{m.sending}</Tag> <Time ms={row.outcome.atMs} /></h2>
          <div class="body"><p class="typed">{row.outcome.text}</p></div>
        </>
      );
    case "card": {
      const c = row.card;
      if (c.state === "refused") {
        return (
          <div class="refusal">
            <h2 class="item-h" id={head}><Icon name="lock" /><span class="who">{m.requestRefused}</span> <Time ms={c.atMs} /></h2>
            {c.refusal ? <ProblemNote problem={c.refusal} tone="plain" /> : null}
          </div>
        );
      }
      const open = c.state === "pending" || c.state === "answering";
      const s = settledText(m, c);
      return (
        <h2 class="item-h" id={head}>
          <Icon name={open ? "half" : s.icon} /><span class="who">{askTitle(m, c)}</span>
          {open ? <><Tag icon="half" tone="attn">{m.waitingForYou}</Tag><GoToRequest /></> : <Tag icon={s.icon} tone={s.tone}>{s.text}</Tag>}
        </h2>
      );
    }
    case "notice":
      return (
        <div class="note bad">
          <h2 class="item-h" id={head}><Icon name="warn" /><span class="who">{m.serverError}</span> {row.times > 1 ? <span class="meta">{m.saidTimes(num(row.times))} </span> : null}<Time ms={row.notice.atMs} /></h2>
          {row.notice.shown ? <p><q>{row.notice.shown}</q></p> : null}
          {row.notice.problem ? <ProblemNote problem={row.notice.problem} tone="plain" /> : null}
        </div>
      );
  }
});
