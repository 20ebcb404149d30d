"""Forms in which many bodies say what a document does: the noun that heads a title, verbs of change, single cases."""

from monitor.ranking.acts import OF_A_FORM, Act, ActRule

_OPEN = (
    r"draft|proposed|propos(?:al|es|ing)|consult|exposure|comments?\b|feedback|views|input|意见稿|征求意见|草案|咨询"
    r"|解读|答记者问|问答"
    r"|Q ?& ?A|FAQ|questions|fact ?sheets?|correct(?:ion|ing)|speech|remarks|webcast|webinar|podcast|report\b"
)
"""A title with such words asks for, explains or reports on what it names: it does not do it."""

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_TRADE_REMEDY = r"(?:anti-?dumping|anti-?subsidy|countervailing|safeguard|dumping|subsidy|\bADD\b|\bCVD\b)"
_DUTY = (
    r"(?:rates?|fees?|charges?|prices?|tariffs?|caps?|limits?|thresholds?|levy|levies|salary|salaries|wages?|quotas?"
    r"|duty|duties|capital|taxe?s?|penalt(?:y|ies)|allowances?|premiums?|contributions?)"
)

_CHANGE_ZH = (
    r"(?:上调|下调|调高|调低|提高|降低|放宽|收紧|免征|减征|加征|恢复征收|暂停征收|取消(?!\d)|调整|扩大).{0,30}"
    r"(?:税率?|税额|关税|比率|比例|限额|额度|门槛|费率|电价|票价|价格|准备金率|利率|补贴|准入|资质|申请条件|许可事项"
    r"|免签|最低工资|工资标准|保险金标准|限制)"
)
_CHANGE_EN = (
    r"(?:raises?|rais(?:es|ing)|cuts?|caps?|bans?|lifts?|ends?|tightens?|relax(?:es)?|scraps?|abolish(?:es)?"
    r"|suspends?|introduc(?:e|es)"
    r"|impos(?:e|es)|lowers?|doubles?|freez(?:e|es)|removes?|eases?|phas(?:e|es) out|increas(?:e|es)|reduc(?:e|es)"
    r"|hikes?|waives?)"
)
"""What a body does to that which binds or pays many."""

_OF_THE_HOUSE = (
    ActRule(
        Act.BULLETIN,
        r"(?:系统|网站|平台).{0,8}(?:维护|升级|停机)的?(?:通知|公告)|办公(?:地址|时间|电话)(?:变更|调整)|迁址",
        r"(?:system|website|scheduled|planned) maintenance|opening hours|office closed|office (?:closure|counters"
        r"|hours|move"
        r"|relocation)"
        r"|gender pay gap|modern slavery statement|disclosure log|service (?:outage|interruption)|transparency data"
        r"|organi[sz]ation chart|privacy act of 1974; system",
    ),
    ActRule(
        Act.PROCUREMENT,
        r"^(?:招标|采购|询价|竞价|比选|磋商|竞争性\w{2,4})公告|^招标",
        r"(?:^|[:;] )tenders?\b(?! offer)|expressions? of interest for (?:the )?(?:supply|provision)"
        r"|(?:supply|provision) and installation",
    ),
    ActRule(
        Act.PERSONNEL,
        r"选调生|(?:选拔|选聘|招募|遴选).{0,8}(?:干部|人员|专家|委员)|(?:递补|笔试|面试|体检|考察).{0,6}(?:名单|公示"
        r"|公告|成绩)|(?:事业单位|公务员).{0,12}(?:招|考|聘)",
        r"call for (?:candidates|nominations)|engagement of .{0,40}(?:professionals?|consultants?|staff|experts?)"
        r"|(?:seeks?|seeking|invites?) (?:new )?(?:members|candidates|nominations)|(?:acting|interim) (?:director"
        r"|head|chief"
        r"|chair|commissioner)\b|walk-?in interview|election of (?:the |new )?(?:chair|officers|board)",
    ),
)

_OF_NEWS = (
    ActRule(
        Act.INTERPRETATION,
        r"(?:条例|办法|规定|规则|法)》的说明$|读懂|划重点|专家(?:谈|解读|视点|观点)|一文|(?:十|八|六|五|几)大(?:变化"
        r"|亮点|看点|要点)|释放.{0,8}信号"
        r"|最关心|怎么(?:领|收|报|算|办|缴|用|申|走|查)"
        r"|(?:这些|哪些)(?:细节|变化|要点|问题|内容|新规)|热线|要留意|请注意这|如何(?:申请|办理|理解|适用)|知多少"
        r"|小课堂|新规.{0,6}(?:来了|速览)|你问我答",
        r"frequently asked|educational materials?|webcast|compliance aid|small entity (?:compliance )?guide"
        r"|information note"
        r"|what .{1,60}(?:should|need to|must) know|how to\b|when you need|decision impact statement|project summary"
        r"|a guide (?:for|to)|quick guide|illustrative examples?|key facts|user guide|in brief|primer\b|toolkit"
        r"|guidance note on|step-by-step|plain english",
        unless=r"意见稿|征求意见|draft|consult|文(?:件|化|旅|物)|final rule",
    ),
    ActRule(
        Act.VISIT,
        r"通电话|通话|致电|互致|贺信|回信|视频连线|共商",
        r"(?:begins?|concludes?|ends?|pays?|wraps? up) .{0,20}visit|tours\b|phone call|calls? on\b",
        unless=OF_A_FORM,
    ),
    ActRule(
        Act.MEETING,
        r"(?:部务会|常务会议|办公会|党组会|全会|专题会).{0,8}(?:审议|研究|讨论|听取)|例会|沙龙|磋商会|视频调度会",
        r"(?:opening|closing|welcome|keynote|ministerial) (?:address|remarks)|key messages|papers for .{0,40}meeting"
        r"|(?:summary|notes?|report|outcome|papers?) (?:of|from) (?:the )?.{0,60}\bmeeting|appears before|(?:round"
        r"|rounds) of"
        r" .{0,60}(?:negotiations?|talks)|(?:update|highlights) (?:January|February|March|April|May|June|July|August"
        r"|September|October|November|December) 20\d\d$|advisory (?:committee|council|panel|board|group)(?:;|$"
        r"| meeting)"
        r"|(?:governor|chair|president|director)\w*['’]s blog|study (?:visit|tour)",
        unless=OF_A_FORM + r"|国务院|货币政策|final rule|guid",
    ),
    ActRule(
        Act.CAMPAIGN,
        r"^[【\[（(]?(?:微?视频|图集|组图|H5|海报|动漫|直播|短片)|一线[|｜丨]|[\u4e00-\u9fff](?:日|周|月"
        r"|节)[”」》]?主题|主题(?:活动|日)|攻略|展播|巡展|故事|读书|书香|里的.{1,4}$|看.{1,6}[：:]|青年"
        r"|暖心|最美|幸福|辟谣|(?:世界|国际|全国)[\u4e00-\u9fff]{1,8}日(?:[：:]|$)",
        r"kicks? off|fun day|festivals?\b|carnival|competition for (?:schools|students)|(?:clean|green|family"
        r"|world \w+)"
        r" (?:day|week|month)\b|scams? awareness|(?:prevention|awareness|safety) (?:week|month)|observed at"
        r"|inaugurates"
        r"|summer activities|tips for|in focus$|stories\b|takes? part|fundrais|restock|released to",
        unless=OF_A_FORM + r"|意见|通知|公告|白名单|招标",
    ),
    ActRule(
        Act.FILING,
        "",
        r"(?:written|oral) (?:answer|reply|question)|parliamentary question|\bLCQ ?\d|reply to (?:PQ|question)",
    ),
)

_OF_SINGLE_CASES = (
    ActRule(
        Act.TERMS,
        r"(?:国家组织|带量|集中|联合|联盟).{0,16}采购(?!.{0,12}(?:结果|中选))",
        unless=r"征求意见|政府集中采购|中心|设备|服务|系统",
    ),
    ActRule(Act.EXECUTION, r"(?:国家组织|带量|集中带量|联盟|药品|耗材).{0,20}采购.{0,16}(?:结果|中选)"),
    ActRule(
        Act.SUPERVISION,
        r"关于(?:实施|推行|启用|推广|全面|进一步|优化|取消|放宽|规范|加强).{2,60}(?:证|许可|备案|审批|登记"
        r"|注册)(?!.{0,40}(?:解读|问答))",
        unless=r"意见稿|征求意见|解读|办法|规定|条例|试点",
    ),
    ActRule(
        Act.APPROVAL,
        r"地块.{0,16}(?:结果|成交|出让|公示)|预售许可|征地|批准文号|品种权|关于同意.{2,60}(?:的?函|的?通知|批复)$"
        r"|车型表|附加.{0,8}条件批准|通过验收|审定通过|航权|征收(?:土地|补偿)",
        r"[A-Z]{1,2}\d{1,2}[A-Z]? \d[A-Z]{2}\b|(?:won['’]?t|will not|does not|not to) oppose|proposed acquisition"
        r"|class ruling"
        r"|^CR 20\d\d/\d|(?:environmental )?permit (?:issued|application|draft|variation|surrender)|derogation"
        r"|licen[cs]e (?:renewal|amendment|transfer|application)|order to commence|authori[sz]ation [A-Z]{2}\d+"
        r"|orders? approving|assumes? all (?:the )?deposits|named patient|marketing authori[sz]ation (?:of|for"
        r"|granted)"
        r"|(?:approves?|approved|authori[sz]ed) (?:the )?(?:first|new|use of|a )|premises licence|site licence"
        r"|interim decision|deeming authority|case-wise decisions|allocat\w+ of quota",
        unless=r"意见稿|征求意见|(?:办法|规定|条例|细则)|final rule|rulemaking|proposed rule|guid",
    ),
    ActRule(
        Act.FILING,
        r"技术指导意见|(?:假期|节日|国庆|端午|中秋|春节|元旦|清明|五一|防汛|高温|寒潮|春运|暑运|高考"
        r"|中考).{0,20}(?:工作|服务|保障|安排|限行|说明|提示)",
        r"change in bank control|formations of, acquisitions|acquisitions of shares"
        r"|determination of regulatory review"
        r"|determination that .{3,80} (?:was|were) not withdrawn|bank holding compan(?:y|ies)$|notice of intent\b"
        r"|(?:renewal|establishment|charter) of .{0,40}committee|application (?:by|from|of) "
        r"|extension of (?:currently )?approved"
        r"|intention to (?:grant|revoke)|inclusion of .{3,80} in appendix|temporary (?:closure|restriction)"
        r"|notice of institution|repo auctions?|permits? applications",
        unless=r"final rule|意见稿|办法|规定",
    ),
    ActRule(
        Act.PENALTY,
        r"(?:法律|清盘|破产)程序|提起(?:诉讼|公诉)|无牌经营|(?:取消|撤销|注销|吊销|暂停).{0,12}(?:\d+"
        r"|[一二三四五六七八九十百]+)(?:家|个|名|人|批|款)"
        r"|罚〔|[罚违]字|缉违|罪名|被(?:禁|捕|控|判|定罪)|禁止[\u4e00-\u9fff]{2,4}重投|暂时吊销|(?:\d+"
        r"|某)[家款起].{0,30}通报|飞行检查|责令|关停|下架|罚没|查获",
        r"debar(?:ment|red|s)\b|(?:announces?|record|faces?|receives?|issues?|imposes?|upholds?) .{0,24}\bfines?\b"
        r"|fines? .{0,40}[£$€]"
        r"|(?:to pay|pays|ordered? .{0,60} to pay) .{0,6}[£$€]|suspended sentence|pleads? guilty|bid-rigging"
        r"|stop-work order"
        r"|orders? against|court (?:orders|finds|imposes)|deregister|struck off|wound up|winding[- ]up (?:order"
        r"|petition)"
        r"|civil money penalt|enforcement (?:actions?|update|notice)|charged\b|arrest(?:s|ed)\b|raids?\b|illegal\b",
        unless=OF_A_FORM
        + r"|意见稿|征求意见|final rule|proposed rule|guid|framework|regime|policy|statistic|adjust|inflation"
        r"|行政许可|事项|文件|政策",
    ),
    ActRule(Act.MAJOR_CASE, r"(?:启动|实施|开展).{0,4}(?:网络安全|反垄断|国家安全)?审查$|反垄断调查"),
    ActRule(
        Act.WARNING,
        r"疫情$|确诊|个案|呼[吁籲]市民|(?:检疫|健康|安全|消费|出行)提示|不合格.{0,8}查处|预警信号",
        r"unauthori[sz]ed (?:firm|person|website)|imposter|taxpayer beware|avoid (?:these|common)",
        unless=r"办法|规定|通知$",
    ),
    ActRule(Act.RECALL, r"回收.{0,12}(?:批次|药物|药品|产品|食品|饮品)", r"early alert|urgent (?:recall|field)"),
)

_OF_TRADE = (
    ActRule(
        Act.EXECUTION,
        "",
        rf"(?:oral hearing|extension of time|termination of|public hearing).{{0,80}}(?:{_TRADE_REMEDY}|review"
        rf"|investigation|questionnaire)",
    ),
    ActRule(Act.LIST, "", r"exchange rate notification|tariff values? of|fixation of|update to the list"),
    ActRule(Act.REPEAL, "", rf"(?:rescission|revocation|discontinuation|rescinding) of .{{0,80}}{_TRADE_REMEDY}"),
    ActRule(
        Act.TERMS,
        r"(?:初步|最终)?裁定.{0,12}公告|征收.{0,12}(?:反倾销|反补贴|保证金|附加)",
        rf"(?:(?:final|preliminary) (?:findings?|determinations?|affirmative|results)|levy of|imposition of|imposing"
        rf"|imposes?"
        rf"|(?:definitive|provisional))\b.{{0,90}}{_TRADE_REMEDY}|{_TRADE_REMEDY} .{{0,60}}(?:orders?\b"
        rf"|duty recommended"
        r"|final (?:results|determination))"
        r"|(?:amendment|change|revision)s? (?:in|to|of) (?:the )?(?:import|export) polic(?:y|ies)"
        r"|(?:import|export) (?:authori[sz]ation|licen[cs]\w+|restrictions?|prohibition|duty"
        r"|duties) .{0,40}(?:required|imposed"
        r"|effect|on\b)",
        unless=r"initiation|propos|(?:sunset|expiry) review initiat",
    ),
    ActRule(
        Act.SUPERVISION,
        "",
        rf"initiat(?:ion|es|ed|ing)\b.{{0,80}}(?:{_TRADE_REMEDY}|sunset|review|investigation)",
        unless=r"insider|case against",
    ),
)

_OF_BINDING = (
    ActRule(
        Act.LAW,
        r"国务院令|主席令",
        r"bill passed|(?:passes|passed) .{0,60}\bbill\b|\bact (?:to (?:commence|take effect)|commences|commencement"
        r"|comes into)"
        r"|receives royal assent",
        unless=r"speech|what .{0,30}know|解读|问答|答记者问|宣传|贯彻",
    ),
    ActRule(
        Act.NATIONAL_PLAN,
        "",
        r"(?:foreign trade|industrial|national energy|national \w+) policy (?:\(?20\d\d)|economic and fiscal strategy",
        unless=_OPEN,
    ),
    ActRule(
        Act.EXTENSION,
        r"有效期.{0,8}延长|延长.{0,16}有效期|继续(?:执行|有效)",
        r"(?:compliance|effective|applicability|implementation) dates?\b(?: .{0,30})?(?:extension|extended|delay\w*"
        r"|postpone\w*|stay)"
        r"|(?:delay|extension|postponement|stay) of .{0,40}dates?\b|; ?(?:compliance|effective) dates?$"
        r"|transition(?:al)? (?:period|relief)"
        r" .{0,20}extend\w*",
        unless=r"final rules?\b|comment",
    ),
    ActRule(
        Act.RULE,
        r"(?:起|日).{0,30}(?:施行|实施|生效)$|令(?:20\d\d年)?第.{1,5}号|.{2,30}(?:规则|规例|规定|办法|条例"
        r"|令)[》」]?(?:今日|周[一二三四五]"
        r"|\d+日)?(?:刊[宪憲]|正式(?:公布|施行|实施)|生效)|联合(?:公布|发布)《.{2,40}(?:办法|规定|规则|条例)》$"
        r"|(?:办法|规定|细则|条例) .{2,16}令",
        r"\brule: |; (?:interim |direct )?final rules?|vacatur|conforming amendments|(?:S\.I\.|S\.?R\.?O\.?|S\.O\."
        r"|G\.S\.R\.) ?(?:No\.? ?)?"
        r"\d+|\bSOR/\d|legislative instrument|(?:regulations?|rules?|order|by-?laws?|code),? amended|gazett(?:es|ed"
        r"|al)\b"
        r"|-\d{3,5}-F[CR]?\)|final determinations?\b|decision (?:on|paper) .{0,80}(?:reform|modif\w+"
        r"|licen[cs]e condition|code"
        r"|charg\w+|allowances?|market|access|connection)|decision paper|modifications? of licen[cs]e|(?:amended"
        r"|revised|new) rules\b"
        r"|rules change|prohibition (?:of|on)|\bbans? on\b|(?:laws?|code|legislation) (?:commences?|takes? effect"
        r"|in force)"
        r"|interim measures (?:on|for)|(?:access|pricing|price|tariff|code) determination|proclamation (?:on|\d)"
        r"|revisions? (?:of|to) .{0,40}provisions|suspension of .{0,50}(?:treatment|exemptions?|tariffs?|duty|duties"
        r"|entry|imports)"
        r"|directions?,? 20\d\d|master directions?|^directions? (?:to|under|on)|; (?:repeal|rescission|removal)\b"
        r"|adopts? .{0,50}\b(?:rules"
        r"|standards?|regulations?|directive|requirements|reforms|legislation)\b|(?:rules?|standards?|laws?|act"
        r"|regime|code|ban|requirements?)"
        r" .{0,30}(?:comes?|enters?|came) into (?:force|effect)|mandatory (?:code|reporting|disclosure|requirements?"
        r"|clearance)",
        unless=_OPEN
        + r"|repay|market (?:study|investigation)|申报指南|dumping|drug|tolerance|safety zone|airspace|air plan"
        r"|review period|hearing|information collection|airworthiness|scam|proceedings|guid",
    ),
    ActRule(
        Act.BINDING_STANDARD,
        r"食品安全国家标准|强制性.{0,6}标准",
        r"quality control order|^standards for |test procedures?\b|mandatory (?:safety |information )?standards?|"
        r"(?:amendments? to (?:the )?)?(?:IFRS|IAS|ISSB|FRS|IFRIC|ISA|IPSAS) (?!for)(?:[A-Z]?\d"
        r"|interpretation)(?!.{0,80}(?:decision|review|taxonomy))",
        unless=_OPEN + r"|review|taxonomy|agenda|update\b|project|summary|means|读懂|废止|meeting|technical committee",
    ),
    ActRule(
        Act.TERMS,
        rf"{_CHANGE_ZH}|(?:管控|管制|限制|禁止|淘汰|监管|重点\w{{0,8}}污染物|许可事项|负面).{{0,12}}(?:清单|名录"
        rf"|目录)|印发.{{0,40}}目录.{{0,12}}(?:通知|公告)|(?:禁用|停用|禁止使用|禁止销售|限制使用|停止(?:销售|使用"
        rf"|进口|受理|生产)|限量|禁止进口)",
        rf"(?:negotiated|maximum|regulated|reference|retail|default) (?:\w+ )?(?:prices?|tariffs?)|(?:tariff|price"
        rf"|bill) caps?\b"
        rf"|{_DUTY}\b.{{0,50}}\b(?:raised|increased|lowered|reduced|cut|set|capped|frozen|revised|changed|to rise"
        rf"|to fall|doubled"
        rf"|waived)\b|(?:raised|increased|lowered|reduced|cut|capped) (?:to|at|from|by) [£$€S]{{0,2}} ?\d"
        rf"|(?:revised|new|updated|higher|lower|amended) (?:\w+ ){{0,3}}{_DUTY}\b|payment (?:systems?|rates?"
        rf"|polic\w+) .{{0,80}}\b(?:rates|changes)"
        r"|(?:user|licen[cs]e|application|annual|registration|filing) fees?\b .{0,20}(?:rates?|20\d\d|schedule)"
        rf"|import ban\b|export ban\b|{_CHANGE_EN} .{{0,50}}\b(?:{_DUTY}|subsid(?:y|ies)|bans?|restrictions?"
        rf"|exemptions?|requirements?|rules)\b"
        rf"|{_DUTY}:? (?:rate )?(?:changes?|increases?|adjustments?)\b|adjust\w+ .{{0,40}}(?:penalt\w+|thresholds?"
        rf"|amounts|limits)"
        r"|(?:candidate|entity|unverified|authori[sz]ation|restricted|prohibited|control) list\b",
        unless=_OPEN
        + r"|-P\)|statistic|quarterly|monthly|survey|tolerance|retail sales|解读|penalty notice|petrol prices|通报"
        r"|动态|数据|统计|同比|情况$|某(?!委)|有限公司|警示|失信|申报"
        r"|\b(?:LLC|Inc|Ltd|Limited|plc)\b|analysis|research|speech",
    ),
)

_OF_ASKING = (
    ActRule(
        Act.EXTENSION, "", r"comment (?:period|deadline|date) (?:is )?(?:extended|re-?opened)|extended comment period"
    ),
    ActRule(
        Act.CONSULTATION,
        r"(?:咨询|咨询).{0,4}(?:现已|已|正式)?(?:展开|开始|启动)|诚邀.{0,10}意见|听证(?:会)?(?:的)?(?:公告"
        r"|通知).{0,30}价|听证公告.{0,30}(?:价|收费)",
        r"comments? (?:letters? )?(?:are )?(?:due|by|close)|(?:views|inputs?|comments?|submissions"
        r"|feedback) (?:are )?(?:invited|sought"
        r"|welcome|requested|wanted)|-\d{3,5}-P[CR]?\)|\b[A-Z]{2,4} 20\d\d/D\d+(?!.{0,30}finali[sz]ed)"
        r"|charge proposals"
        r"|issues paper|options paper|for public comment|supplemental notice|tentative (?:ruling|order"
        r"|decision on rule)",
        unless=r"information collection|merger inquiry|acquisition|speech|agenda decision|OMB|nominations"
        r"|committee; notice",
    ),
    ActRule(Act.LIST, "", r"tentative agenda decision|jurisdictional profiles|work ?plan update|taxonomy update"),
    ActRule(Act.GUIDANCE, "", r"agenda decisions?\b|taxpayer alert|alert [A-Z]{2} 20\d\d"),
    ActRule(
        Act.SUPERVISION,
        r"自.{2,12}日起.{0,30}(?:须|应|不得|必须|方可|可以)|(?:企业|机构|平台|单位|主体)(?:须|必须|不得|应当)"
        r"|扩大.{0,16}开放.{0,40}(?:通知|通告|公告|意见)"
        r"|咨询总结|通函|监管期望|联合声明|发表.{0,20}声明|(?:信息|情况|数据)报送|报送.{0,20}(?:工作"
        r"|有关事项)?的?(?:公告|通告)|商品归类|原产地(?:管理|规则|标准)|申报要求|申报规范|报告要求"
        r"|(?:须|应)(?:于|在).{2,16}前|申报指南.{0,10}(?:第.版|[（(])|安全认证要求",
        r"general licen[cs]e|(?:SR|FIL|CA)[ -]\d+-\d+|rev(?:enue|\.) (?:proc(?:edure|\.)|rul(?:ing|\.))"
        r"|customs brief|notice 20\d\d-\d+"
        r"|^decision: "
        r"|(?:revises?|strengthens?|updates?) .{0,30}\b(?:standards?|framework|regime) (?:on|for)|\b(?:TR|TD|PCG|LCR"
        r"|GSTR|PS LA) 20\d\d/\d+|position statements?|guideline [A-Z]-\d+|– guideline"
        r"|(?:trade|public|regulatory|industry|technical) notice (?:no\.? ?)?\d+|consultation conclusions?"
        r"|feedback statement and"
        r"|statement of .{0,30}(?:principles|policy|expectations)|(?:to|must|should|required to) (?:register|comply"
        r"|submit|notify|disclose"
        r"|apply) (?:by|before|from)|superseded by|mandatory\b|extended to .{0,60}(?:sectors?|firms|industr\w+)"
        r"|recommendations for",
        unless=_OPEN.replace(r"|咨询", "").replace("|consult", "").replace("|feedback", "") + r"|templates|试点|项目",
    ),
)

CLEAR_FORMS = (*_OF_THE_HOUSE, *_OF_NEWS, *_OF_ASKING[:1], *_OF_SINGLE_CASES, *_OF_TRADE, *_OF_BINDING, *_OF_ASKING[1:])
"""In order, before all other rules: what a title says by its form, whoever wrote it."""

OPEN_FORMS = (
    ActRule(
        Act.DATA,
        r"量值表|金额表|一览表$|统计表|价格情况|未准入|速递|(?:财务|业务)回顾|人次",
        r"projections?\b|estimates?\b|provisional figures|(?:assets and liabilities|state) of (?:the )?\w+"
        r"|profiles?\b|vacancies (?:20|in|and|survey)"
        rf"|(?:trade|sales|performance|production|arrears|employment|lending|claims)[:,] .{{0,12}}{_MONTH}"
        rf"|\b{_MONTH} 20\d\d$"
        r"|bulletin|barometer|– [A-Z]\.\d+$",
        unless=r"办法|规定|rules?\b|requirements?\b|cap\b",
    ),
    ActRule(
        Act.LIST,
        r"(?:检查|抽查|核查|评审|评估|审查|考核)结果的?(?:公告|通告|公示)$|第.{1,6}[批期][）)]?$|[（(]第.{1,5}[批期][）)]|情况的通报$|名单",
    ),
    ActRule(
        Act.TERMS,
        "",
        rf"{_DUTY}\b.{{0,40}}(?:\b20\d\d|level|applicable|for the year|from \d|with effect)",
        unless=r"statistic|survey|report",
    ),
    ActRule(
        Act.SUPERVISION,
        "",
        r"(?:rules|regulations|requirements?|thresholds?|obligations?|restrictions?|prohibitions?|limits?|conditions"
        r"|exemption process|compliance|disclosures?"
        r"|reporting|due dates|changes to|amendments? to|revised|new rules)\b",
        unless=r"requirements? for (?:visitors|applicants)|speech|blog|\b(?:LLC|Inc|Ltd|Limited)\b|order\b|terminat",
    ),
    ActRule(
        Act.EXECUTION,
        "",
        rf"(?:deadline|submit|returns?|by \d{{1,2}} {_MONTH}|before {_MONTH}|from \d{{1,2}} {_MONTH})\b",
    ),
)
"""In order, where no other form is found: tables of figures, series of lists, subjects that name a duty."""
