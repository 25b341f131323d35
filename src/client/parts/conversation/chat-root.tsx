// Gives one conversation to all parts inside, and takes pictures that are dropped onto it.
import { useMemo, type ReactNode } from "react";
import { useDrop } from "../composer/use-drop.ts";
import type { AgentRun } from "../think.ts";
import { Announcer } from "./announcer.tsx";
import {
  ConversationContext,
  DecisionsContext,
  RunsContext,
  type Decisions,
  type ProgramCall,
  type Runs
} from "./context.ts";
import type { ConversationView } from "./use-conversation.ts";

export interface ChatRootProps<Agent = unknown> {
  readonly conversation: ConversationView<Agent>;
  readonly children: ReactNode;
  readonly className?: string;
  /** Shows what executed code has called: a callable method of the agent. Keep it the same function between renders. */
  readonly callsOfProgram?: (executionId: string) => Promise<readonly ProgramCall[]>;
  /** Opens the conversation of a sub-agent, from the card of its call. */
  readonly onOpenRun?: (run: AgentRun) => void;
  readonly openRunId?: string | undefined;
}

const noCalls = () => Promise.resolve([]);

/**
 * The frame of a chat: the parts inside show the conversation that it is given.
 *
 * @example
 * <ChatRoot conversation={useConversation({ agent: "assistant", name: "ada" })}>
 *   <ConnectionBanner />
 *   <Conversation />
 *   <Composer />
 * </ChatRoot>
 */
export function ChatRoot<Agent = unknown>(props: ChatRootProps<Agent>) {
  const { conversation, children, className = "", callsOfProgram = noCalls, onOpenRun, openRunId } = props;
  const { attachments, pendingApprovals, agentRuns, approve, reject, messages, status, error } = conversation;
  const drop = useDrop((files) => void attachments.add(files));
  const decisions = useMemo(
    (): Decisions => ({ pending: pendingApprovals, approve, reject, callsOfProgram }),
    [pendingApprovals, approve, reject, callsOfProgram]
  );
  const runs = useMemo((): Runs => ({ runs: agentRuns, openRunId, onOpenRun }), [agentRuns, openRunId, onOpenRun]);
  return (
    // What the parts use is the same for every class of agent.
    <ConversationContext.Provider value={conversation as ConversationView}>
      <DecisionsContext.Provider value={decisions}>
        <RunsContext.Provider value={runs}>
          <main className={`think-part think-chat ${className}`} {...drop.handlers}>
            {children}
            {drop.isOver && <div className="think-drop-veil">Drop pictures to attach them</div>}
            <Announcer messages={messages} status={status} error={error} />
          </main>
        </RunsContext.Provider>
      </DecisionsContext.Provider>
    </ConversationContext.Provider>
  );
}
