// One conversation with everything around it: header, log, composer and the panel underneath. Each part shows what it
// is given.
import type { UIMessage } from "ai";
import { Dock } from "../composer/dock.tsx";
import { useAttachments } from "../composer/use-attachments.ts";
import { ConnectionLine } from "../header/connection-line.tsx";
import { Header } from "../header/header.tsx";
import { ModelNotice } from "../header/model-notice.tsx";
import { PlugButton } from "../header/plug-button.tsx";
import { PlugLine } from "../header/plug-line.tsx";
import { isOver } from "../header/plug-story.ts";
import { Panel } from "../panel/panel.tsx";
import type { PanelSwitch } from "../panel/use-panel.ts";
import { DecisionsContext } from "../parts/decisions.ts";
import { RunPanel } from "../team/run-panel.tsx";
import { TeamContext } from "../team/team.ts";
import { useTeam } from "../team/use-team.ts";
import { Announcer } from "./announcer.tsx";
import { EmptyConversation } from "./empty-conversation.tsx";
import { Log } from "./log.tsx";
import { useConversation } from "./use-conversation.ts";
import { useDrop } from "./use-drop.ts";
import { useStickToEnd } from "./use-stick-to-end.ts";

interface ConversationProps {
  id: string;
  title: string;
  hasPlug: boolean;
  panel: PanelSwitch;
  onShowConversations(): void;
  /** For what else on the page has lost its connection. */
  onReconnect(): void;
}

export function Conversation(props: ConversationProps) {
  const { id, title, hasPlug, panel, onShowConversations, onReconnect } = props;
  const chat = useConversation(id, panel.isOpen);
  const { messages, status, connection, interruption, silentSince, retry, error, versions, actions } = chat;
  const { story, pullPlug } = chat.plug;
  const model = chat.state?.model;
  const { team, openRun, close } = useTeam(chat.agentRuns, panel);
  const stick = useStickToEnd(messages.length > 0);
  const attachments = useAttachments();
  const drop = useDrop((files) => void attachments.add(files));
  const send = (parts: UIMessage["parts"]) => {
    actions.send(parts);
    stick.jumpToEnd();
  };
  return (
    <>
      <main className="conversation" {...drop.handlers}>
        <Header {...{ title, model, status, connection, panel, onShowConversations }}>
          {hasPlug && (
            <PlugButton
              isPulled={story !== undefined && !isOver(story)}
              isInviting={status === "running"}
              onPull={pullPlug}
            />
          )}
        </Header>
        <ModelNotice model={model} />
        {story !== undefined && <PlugLine story={story} />}
        <ConnectionLine
          connection={connection}
          problem={story === undefined ? chat.connectionError : undefined}
          onRetry={() => {
            // One of the two: it is waiting to try again, or has given up.
            chat.client.retryNow();
            chat.client.connect();
            onReconnect();
          }}
        />
        <DecisionsContext value={chat.decisions}>
          <TeamContext value={team}>
            <Log
              {...{ messages, status, connection, interruption, silentSince, retry, error, versions, actions, stick }}
              onStop={actions.stop}
              onRetry={actions.retry}
              empty={
                connection === "open" && (
                  <EmptyConversation hasPlug={hasPlug} onSuggestion={(text) => send([{ type: "text", text }])} />
                )
              }
            />
          </TeamContext>
        </DecisionsContext>
        <Dock
          pending={chat.pendingApprovals}
          problem={chat.problem}
          attachments={attachments}
          isBusy={chat.isBusy}
          onForgetProblem={chat.forgetProblem}
          onSend={send}
          onSubmit={actions.submit}
          onStop={actions.stop}
        />
        {drop.isOver && <div className="drop-veil">Drop pictures to attach them</div>}
        <Announcer messages={messages} status={status} error={error} />
      </main>
      {panel.isOpen && openRun && (
        <RunPanel key={openRun.runId} run={openRun} address={chat.addressOf(openRun)} onClose={close} />
      )}
      {panel.isOpen && !openRun && <Panel id={id} chat={chat} headingRef={panel.headingRef} onHide={panel.hide} />}
    </>
  );
}
