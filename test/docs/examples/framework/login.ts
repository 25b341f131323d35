// src/login.ts
import { createLogin } from "everthink/login";

export const login = createLogin<Cloudflare.Env>();
