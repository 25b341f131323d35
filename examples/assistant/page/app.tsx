// The page: the list of conversations on the left, one conversation in the middle, what happens underneath on the right.
import { useCallback, useState } from "react";
import { Conversation } from "./conversation/conversation.tsx";
import { useHasPlug } from "./header/use-plug.ts";
import { usePanel } from "./panel/use-panel.ts";
import { useDirectory } from "./sidebar/use-directory.ts";
import { Sidebar } from "./sidebar/sidebar.tsx";

export function App() {
  const directory = useDirectory();
  const hasPlug = useHasPlug();
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const panel = usePanel();
  const showDrawer = useCallback(() => setDrawerOpen(true), []);
  const hideDrawer = useCallback(() => setDrawerOpen(false), []);
  const { currentId } = directory;
  return (
    <div
      className="think-part app"
      data-panel={panel.isOpen || undefined}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isDrawerOpen) return;
        event.preventDefault();
        hideDrawer();
      }}
    >
      <Sidebar
        directory={directory.state}
        currentId={currentId}
        isOpen={isDrawerOpen}
        onHide={hideDrawer}
        onNew={() => {
          hideDrawer();
          directory.create();
        }}
        onOpen={(id) => {
          hideDrawer();
          directory.open(id);
        }}
        onRename={directory.rename}
        onDelete={directory.remove}
      />
      {currentId === undefined ? (
        <main className="think-chat" aria-busy="true">
          {directory.problem !== undefined && <p className="think-problem">{directory.problem}</p>}
        </main>
      ) : (
        <Conversation
          key={currentId}
          id={currentId}
          title={directory.title}
          hasPlug={hasPlug}
          panel={panel}
          onShowConversations={showDrawer}
          onReconnect={directory.reconnect}
        />
      )}
    </div>
  );
}
