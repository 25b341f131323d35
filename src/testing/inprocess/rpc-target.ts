/** Instances cross an object boundary as live references: their public methods stay callable from the other side. */
export class RpcTarget {}
