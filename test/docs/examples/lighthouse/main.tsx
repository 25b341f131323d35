import { createRoot } from "react-dom/client";
import { Chat } from "./page.tsx";

const root = document.getElementById("root");
if (root) createRoot(root).render(<Chat name="ada" />);
