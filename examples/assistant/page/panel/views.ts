// What the panel beside a conversation can show, in the order of its tabs. A view of your own is one more entry.
import type { ComponentType } from "react";
import type { DemoView } from "../conversation/use-demo.ts";
import { FilesView } from "../files/files-view.tsx";
import type { IconName } from "everthink/react";
import { ServersView } from "../servers/servers-view.tsx";
import { MessengerView } from "./messenger-view.tsx";
import { UnderneathView } from "./underneath-view.tsx";

export interface PanelViewProps {
  /** Of the conversation. */
  id: string;
  chat: DemoView;
}

export interface PanelView {
  readonly name: string;
  readonly icon: IconName;
  readonly View: ComponentType<PanelViewProps>;
}

export const UNDERNEATH: PanelView = { name: "Underneath", icon: "layers", View: UnderneathView };

export const PANEL_VIEWS: readonly PanelView[] = [
  UNDERNEATH,
  { name: "Files", icon: "folder", View: FilesView },
  { name: "Messenger", icon: "chat", View: MessengerView },
  { name: "MCP servers", icon: "plug", View: ServersView }
];
