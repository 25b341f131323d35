import { applyStoredTheme, Chat } from "everthink/react";
import { createRoot } from "react-dom/client";
import "everthink/react/styles.css";
import "./style.css";
import { greeting, suggestions, title } from "./suggestions.ts";

// One conversation per name: /?name=ada is Ada's.
const name = new URLSearchParams(location.search).get("name") ?? "default";
const address = { agent: "assistant", name };

document.title = title;
applyStoredTheme();
const root = document.getElementById("root");
if (root) createRoot(root).render(<Chat {...address} title={title} greeting={greeting} suggestions={suggestions} />);
