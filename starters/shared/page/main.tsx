import { createRoot } from "react-dom/client";
import { Chat } from "./chat.tsx";
import { greeting, suggestions } from "./suggestions.ts";

// One conversation per name: /?name=ada is Ada's.
const name = new URLSearchParams(location.search).get("name") ?? "default";
const root = document.getElementById("root");
if (root) createRoot(root).render(<Chat name={name} greeting={greeting} suggestions={suggestions} />);
