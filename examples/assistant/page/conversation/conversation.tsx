// One conversation with everything around it: header, log, composer and the panel underneath. What a chat is made of comes
// from everthink/react; the plug, the notice about the model and the panel are this page's own.
import { useCallback } from "react";
import { ChatRoot, Composer, ConnectionBanner, Conversation as Log } from "everthink/react";
import { Header } from "../header/header.tsx";
import { ModelNotice } from "../header/model-notice.tsx";
import { PlugButton } from "../header/plug-button.tsx";
import { PlugLine } from "../header/plug-line.tsx";
import { isOver } from "../header/plug-story.ts";
import { Panel } from "../panel/panel.tsx";
import type { PanelSwitch } from "../panel/use-panel.ts";
import { RunPanel } from "../team/run-panel.tsx";
import { useOpenRun } from "../team/use-open-run.ts";
import { EmptyConversation } from "./empty-conversation.tsx";
import { useDemo } from "./use-demo.ts";

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
  const chat = useDemo(id, panel.isOpen);
  const { call, status, state, agentRuns } = chat;
  const { story, pullPlug } = chat.plug;
  const { openRun, open, close } = useOpenRun(agentRuns, panel);
  const calledFromCode = useCallback((executionId: string) => call("calledFromCode", [executionId]), [call]);
  return (
    <>
      <ChatRoot conversation={chat} callsOfProgram={calledFromCode} onOpenRun={open} openRunId={openRun?.runId}>
        <Header title={title} model={state?.model} panel={panel} onShowConversations={onShowConversations}>
          {hasPlug && (
            <PlugButton
              isPulled={story !== undefined && !isOver(story)}
              isInviting={status === "running"}
              onPull={pullPlug}
            />
          )}
        </Header>
        <ModelNotice model={state?.model} />
        {story === undefined ? <ConnectionBanner onRetry={onReconnect} /> : <PlugLine story={story} />}
        <Log showUsage={chat.showsUsage} empty={<EmptyConversation hasPlug={hasPlug} />} />
        <Composer canSubmit />
      </ChatRoot>
      {panel.isOpen && openRun && (
        <RunPanel key={openRun.runId} run={openRun} address={chat.addressOf(openRun)} onClose={close} />
      )}
      {panel.isOpen && !openRun && <Panel id={id} chat={chat} headingRef={panel.headingRef} onHide={panel.hide} />}
    </>
  );
}
