import { applyStoredTheme } from "everthink/react";
import { createRoot } from "react-dom/client";
import "everthink/react/styles.css";
import "./style.css";
import { App } from "./app.tsx";
import { readSession } from "./session.ts";
import { title } from "./suggestions.ts";

document.title = title;
applyStoredTheme();
const session = await readSession();
const root = document.getElementById("root");
if (session && root) createRoot(root).render(<App session={session} />);
