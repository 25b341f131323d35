// Why a turn answered as it did: what the model was given, and who allowed what.
import type { HistoryWindow, TurnWhy, WhySection, WhyTool } from "../src/features/inspection/index.ts";
import { bytes, count, printable } from "./format.ts";
import { Badge, Text, VirtualList } from "./parts.tsx";

const MATCHES: Readonly<Record<TurnWhy["prompt"]["match"], string>> = {
  same: "This is the prompt the model was given: its fingerprint is the turn's.",
  changed:
    "The turn had another prompt, which is not kept: class, memory or tools have changed since, or beforeTurn changed it.",
  unknown: "The prompt of now. Nothing is known of the turn's own."
};

const ROW_HEIGHT = 34;
/** Longer lists scroll. */
const WINDOW_HEIGHT = 260;

export function Why({ why }: { why: TurnWhy }) {
  const { prompt } = why;
  return (
    <div className="why">
      <section>
        <h3>
          Prompt <small>{`${count(prompt.tokens)} tokens · ${bytes(prompt.sizeBytes)}`}</small>
        </h3>
        <p>
          <Badge kind={prompt.match}>{prompt.match}</Badge> {MATCHES[prompt.match]}
        </p>
        {prompt.sections.map((section, index) => (
          <Section key={index} section={section} total={prompt.tokens} />
        ))}
      </section>
      <History history={why.history} />
      <Tools tools={why.tools} deferred={why.deferredTools} />
      <section>
        <h3>Decisions</h3>
        {why.policies.length + why.recovery.length === 0 && (
          <p className="faint">No call was made, and nothing was recovered.</p>
        )}
        <ul className="plain">
          {why.recovery.map(({ attempt, decision }) => (
            <li key={attempt}>
              <Badge kind="recovery">attempt {attempt}</Badge> {decision}
            </li>
          ))}
          {why.policies.map(({ callId, toolName, decision, because }) => (
            <li key={callId}>
              <Badge kind={decision}>{decision}</Badge> <code>{toolName}</code> {printable(because)}
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

function Section({ section, total }: { section: WhySection; total: number }) {
  const share = total === 0 ? 0 : (section.tokens / total) * 100;
  return (
    <details className="section">
      <summary>
        <i className="chevron" />
        <b>{section.label ?? section.name}</b>
        <span className="share" aria-hidden="true">
          {section.replacedBy === null && <i style={{ width: `${share}%` }} />}
        </span>
        <span className="faint">
          {section.replacedBy ? `left out: ${section.replacedBy}` : `${section.tokens} tokens`}
        </span>
      </summary>
      <p className="faint">{section.purpose}</p>
      <Text value={section.text} />
    </details>
  );
}

function History({ history }: { history: HistoryWindow }) {
  const { storedMessages, storedBytes, shownMessages, entries, compactions } = history;
  const notes = historyNotes(history);
  return (
    <section>
      <h3>
        History{" "}
        <small>{`${count(shownMessages)} shown of ${count(storedMessages)} stored (${bytes(storedBytes)})`}</small>
      </h3>
      {compactions.map((compaction) => (
        <details key={compaction.id} className="section">
          <summary>
            <i className="chevron" />
            <b>Compacted</b>{" "}
            <span className="faint mono">{`${compaction.fromMessageId} … ${compaction.toMessageId}`}</span>
          </summary>
          <Text value={compaction.summary} label="The model reads this in their place; the messages stay stored." />
        </details>
      ))}
      <div className="window" style={{ height: Math.min(WINDOW_HEIGHT, entries.length * ROW_HEIGHT + 2) }}>
        <VirtualList
          items={entries}
          rowHeight={ROW_HEIGHT}
          label="Messages the model was given, newest first"
          render={({ role, shown, preview, chars, wholeChars, cutCalls }) => (
            <p
              className="window-row"
              title={cutCalls.length > 0 ? "The model reads the rest with read_result." : undefined}
            >
              <span className="role">{role}</span>
              <span className="preview">{printable(preview)}</span>
              {shown !== "whole" && <Badge kind={shown}>{shown === "summary" ? "compacted" : "cut"}</Badge>}
              <span className="faint">
                {chars === wholeChars ? bytes(chars) : `${bytes(chars)} of ${bytes(wholeChars)}`}
              </span>
            </p>
          )}
        />
      </div>
      {notes.map((note) => (
        <p key={note} className="faint">
          {note}
        </p>
      ))}
    </section>
  );
}

/** What is missing in the list, and where it can be read. */
function historyNotes({ storedMessages, shownMessages, budgetBytes, entries, compactions }: HistoryWindow): string[] {
  const isOverBudget = compactions.length === 0 && shownMessages < storedMessages;
  const budget = budgetBytes === null ? "" : ` (hydrationByteBudget: ${bytes(budgetBytes)})`;
  return [
    isOverBudget && `${count(storedMessages - shownMessages)} older messages did not fit${budget}. They stay stored.`,
    entries.length < shownMessages && `The newest ${entries.length} are listed.`,
    entries.some(({ shown }) => shown === "truncated") &&
      "Of messages marked “cut” the model is given the beginning; it reads the rest with read_result."
  ].filter((note) => note !== false);
}

/** What the model could have found, and what it was spared. */
function Deferred({ deferred }: { deferred: NonNullable<TurnWhy["deferredTools"]> }) {
  const { tools, groups, active, tokensOfAll, tokensOffered, savedTokens } = deferred;
  return (
    <details className="section">
      <summary>
        <i className="chevron" />
        <b>{`${count(tools)} deferred`}</b>{" "}
        <span className="faint">{`${count(tokensOffered)} tokens instead of ${count(tokensOfAll)}: ${savedTokens >= 0 ? `${count(savedTokens)} saved` : `${count(-savedTokens)} more`} in each prompt`}</span>
      </summary>
      <p className="faint">
        The model finds them with search_tools.{" "}
        {active.length === 0
          ? "None was found before this turn."
          : `Found before this turn, and offered in this order: ${active.length}.`}
      </p>
      {active.length > 0 && (
        <p className="found-tools">
          {active.map((name) => (
            <Badge key={name} kind="completed">
              {printable(name)}
            </Badge>
          ))}
        </p>
      )}
      <ul className="plain">
        {groups.map((group) => (
          <li key={`${group.kind} ${group.name}`}>
            {printable(group.name)} <small>{count(group.tools)}</small>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Tools({ tools, deferred }: { tools: readonly WhyTool[]; deferred: TurnWhy["deferredTools"] }) {
  return (
    <section>
      <h3>
        Tools <small>{tools.length}</small>
      </h3>
      {deferred && <Deferred deferred={deferred} />}
      <table className="tools-table">
        <thead>
          <tr>
            <th>Name</th>
            <th>Layer</th>
            <th>Offered</th>
            <th>Calls</th>
            <th>What the model is told</th>
          </tr>
        </thead>
        <tbody>
          {tools.map(({ name, layer, wasOffered, calls, description }) => (
            <tr key={name}>
              <td className="mono">{printable(name)}</td>
              <td>{layer ?? "gone"}</td>
              <td>{wasOffered === null ? "?" : wasOffered ? "yes" : "no"}</td>
              <td>{calls || ""}</td>
              <td className="clamp">{printable(description ?? "")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
