// The page's beginning: the theme first, so that nothing is ever painted in the wrong one, then the application.
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/layout.css";
import "./styles/sidebar.css";
import "./styles/header.css";
import "./styles/plug.css";
import "./styles/conversation.css";
import "./styles/markdown.css";
import "./styles/parts.css";
import "./styles/extensions.css";
import "./styles/code.css";
import "./styles/team.css";
import "./styles/composer.css";
import "./styles/panel.css";
import "./styles/servers.css";
import "./styles/files.css";
import "./styles/background.css";
import "./styles/messenger.css";
import { applyStoredTheme } from "./theme.ts";

applyStoredTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
createRoot(root).render(<App />);
