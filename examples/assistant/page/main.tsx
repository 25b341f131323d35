// The page's beginning: the theme first, so that nothing is ever painted in the wrong one, then the application.
import { createRoot } from "react-dom/client";
import { applyStoredTheme } from "everthink/react";
import { App } from "./app.tsx";
import "everthink/react/styles.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/lighthouse.css";
import "./styles/sidebar.css";
import "./styles/header.css";
import "./styles/plug.css";
import "./styles/team.css";
import "./styles/panel.css";
import "./styles/servers.css";
import "./styles/files.css";
import "./styles/background.css";
import "./styles/messenger.css";

applyStoredTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
createRoot(root).render(<App />);
