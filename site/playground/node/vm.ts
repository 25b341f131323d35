// The page's agent loads no Workers.
export const createContext = () => ({});
export class Script {}
