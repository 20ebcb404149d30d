"""Words of titles that look like those of rules but concern one firm, one docket or the house; tried before all others.

A licence for one company, a response to another body's consultation, an auction of bonds, a contract notice, batches
that failed a test: each holds a noun (licence, consultation, auction, notice, 规定) that elsewhere means a rule.
"""

from monitor.ranking.acts import DRAFT, OF_A_FORM, Act, ActRule

_LICENCE = r"(?:licen[cs]es?|authori[sz]ations?|permits?|concessions?|charters?|derogations?|waivers?|registrations?)"
_DEBT = (
    r"(?:bonds?|gilts?|treasur(?:y|ies)|T-?bills?|bills|sukuk|debentures?|certificates of deposit|government"
    r" securities|notes?)"
)
_BODIES_EN = r"(?:commission|authority|agency|ministry|department|council|bureau|regulator|board|committee)"

_OF_PLAIN_WORDS = (
    ActRule(
        Act.CORRECTION,
        r"^(?:更正|勘误|补正(?!预算))",
        r"(?:(?<=^)|(?<=: ))(?:errat(?:um|a)|corrigend(?:um|a)|corrections?)\b(?!al)",
    ),
    ActRule(
        Act.LAW,
        r"(?:表决|审议|三读|三讀|高票)通过.{0,40}(?:法|条例|修正案|法典)(?:》|$|[（(]|的决定|修订)",
        r"(?:passes|passed|enacts|enacted|adopts|adopted|approves|signs|signed) (?:into law )?(?:the |a "
        r"|an )?.{0,50}\b(?:Act|Bill|Law)\b|royal assent|(?:receives?|received|given) assent|assented to"
        r"|bill\b.{0,60} (?:passed|approved|enacted|becomes law)",
        unless=r"草案.{0,12}(?:征求|咨询|一审|二审|初审)"
        r"|draft|reading|committee|speech|rules|law enforcement|law firm|order",
    ),
    ActRule(
        Act.EXTENSION,
        "",
        r"(?:deadline|closing date|comment period|consultation period|time) .{0,80}(?:pushed back|put back"
        r"|moved to|postponed"
        r"|extended|lengthened)",
        unless=r"final rule|draft|compliance|effective date|implementation",
    ),
    ActRule(
        Act.CONSULTATION,
        "",
        r"(?-i:ANPRM?|NPRM|NOPR|FNPRM|NPA(?= ?\d|:)|NOI(?= |:)|RFI(?=:| on)|RFC(?=:| on))",
        unless=r"extension|re-?open|information collection|withdraw",
    ),
    ActRule(
        Act.INTERPRETATION,
        r"(?:政策|新规|法规)(?:直通车|速递|速读|导读|百科|小贴士|一点通|快问快答|课堂)|专家(?:文章|署名|观点|视角"
        r"|笔谈)|(?:[一二两三四五六]|\d)张?图(?:看|读|了解|速览|解"
        r"|说)|看懂|影响几何|记者(?:观察|调查)|(?:企业|个人|纳税人|消费者|用人单位|商户)(?:如何|怎样|怎么|可以)",
        r"(?:things|what) (?:you |firms |businesses )?(?:to|need to|should) know|explainer\b|^understanding "
        r"|^summary of"
        r"|in focus:|what(?:['’]s| is| has) (?:changing|new|changed)\b|how .{2,60} (?:works?|will work|will apply)\b",
        unless=DRAFT,
    ),
)

_OF_DAILY_BUSINESS = (
    ActRule(
        Act.PROCUREMENT,
        r"询价(?:函|单|书)|(?:采购|招标|投标)邀请|比价函",
        r"(?:supplier|contractor|vendor)s? (?:selected|chosen|appointed)|(?:selects|chooses) (?:supplier"
        r"|contractor|vendor)|(?:requests? for proposals?|RFP).{0,60}(?:services?|consultan\w+|supply|software"
        r"|systems?)\b"
        r"|awards? of (?:the |a )?contract|(?:invitations?|requests?) (?:for|to) (?:bids?|tenders?|quotes?"
        r"|quotations?)|\b(?:RFQ|ITB|ITT|EOI) (?:for|no|\d)|(?:contract|quotation|tender|bid|solicitation|award"
        r"|RFP|RFQ|RFT|ITT) (?:notice|invitation|enquiry|inquiry"
        r"|document|opportunity|amendment|award)s?\b"
        r"|(?:quotations?|tenders?|bids?) (?:for|invited|inviting|notice|called)"
        r"|(?:hiring|hire|purchase|annual maintenance|AMC|leasing) of .{0,40}(?:vehicles?|equipment|services?|taxis?"
        r"|computers?|furniture|office|manpower)",
        unless=r"办法|tender offer|bond|bill|gilt|securit|spectrum|capacity|lease area",
    ),
    ActRule(
        Act.BULLETIN,
        r"升国旗|升旗|食堂|停车|车位|班车|作息时间|启用.{0,10}(?:印章|邮箱|域名)|(?:联系|咨询|举报"
        r"|热线)电话.{0,6}(?:变更|调整|公布)",
        r"site maintenance|this week (?:in|at)\b|week in review|(?:list of )?(?:public |gazetted |bank "
        r"|federal )?holidays (?:for|in|20\d\d|calendar|list)|(?:cafeteria|canteen|library"
        r"|visitor cent(?:re|er)|reading room|car park) (?:hours|clos\w+|opening|renovation|reopen\w*)"
        r"|(?:constituent|stakeholder|weekly|member|website|staff"
        r"|subscriber) updates?\b|update [-–—:] ?\w+ \d",
        unless=OF_A_FORM + r"|tax on|levy|standard|charging|space|食品|安全|整治|检查|停车(?:收费|新规|管理)",
    ),
    ActRule(
        Act.PERSONNEL,
        r"领导(?:分工|班子|简介)|(?:新任|候任|下任).{0,12}(?:总裁|局长|行长|主席|主任|署长|司长|专员|人选)|接任"
        r"|出任|获委|离任|卸任|履职公示|任职前?公示|任前公示|(?:挂职|借调|轮岗|晋升|评审专家"
        r"|退役|军转)(?:干部|人员|名单|公示|通知)|职位(?:调整|表)",
        r"(?:new|interim|acting) (?:head|director|chief|chair)\b.{0,40}(?:named|announced|confirmed|chosen)"
        r"|(?:board|leadership|management|staff|executive|committee) (?:changes?|reshuffle|moves|transition)\b"
        r"|call for applications?.{0,40}(?:members?|directors?|chair|experts?|commissioners?|panel"
        r"|advis[eo]rs?)\b|transfers? and postings?|postings? (?:of|and transfers?)|promotion of"
        r"|to (?:leave (?:the |in |at |after )|retire|depart\b|lead (?!to)|head |chair |join (?:the )?(?:board"
        r"|agency|authority|commission|council))"
        r"|takes? (?:office|up (?:the )?(?:post|role|position|duties))|(?:takes|sworn) (?:the )?oath|(?:assumes"
        r"|steps into) (?:office|the role|charge)|^(?:senior|junior|assistant|associate|principal|lead|graduate"
        r"|trainee|policy) \w+(?: \w+)? ?[-–—(,]|on deputation|deputation basis|seniority list"
        r"|(?:names|named|taps|picks|selects|elects|announces?) .{0,30}(?:deputy|under|assistant|general|chief"
        r"|senior) (?:\w+ )?(?:secretary|counsel|director|executive|commissioner|economist|scientist|staff)\b",
    ),
    ActRule(
        Act.CAMPAIGN,
        r"(?:日记|手记|札记|随笔|纪事)|开讲|课堂|走进(?!.{0,20}办法)|(?:宣传|教育).{0,10}(?:活动|走进|进|启动"
        r"|开启|举行)|健步走|运动会|慰问演出",
        r"^happy |season['’]s greetings|^inside (?:our|the) |^our (?:people|team|story|history)\b|meet (?:the"
        r"|our) |a day in the life"
        r"|(?:four|five|six|seven|ten|top \w+|\d+) (?:\w+ )?(?:steps|ways|tips|things|reasons)\b"
        r"|(?:named|ranked|voted|rated) .{0,30}(?:best|top|among|first|leading)|wins? .{0,60}(?:award|prize"
        r"|medal|title|trophy)|(?:marks|observes|celebrates|joins) .{0,60}(?:week|month|day"
        r"|anniversary)\b|voices:|spotlight on|(?:holiday|picnic|summer|winter|spring|autumn|festive|school) season"
        r"|(?:drinking|eating|cooking|shopping|travel) safely|pupils|schoolchildren|learns? about|keep (?:your"
        r"|you|children)",
        unless=OF_A_FORM + r"|意见|方案|通知|公告|标准|rules?\b|requirement",
    ),
    ActRule(
        Act.VISIT,
        r"(?:领导|局长|市长|省长|书记|主任|部长|行长|主席|厅长|负责同志).{0,16}(?:检查|督查|调研|看望|巡查|暗访|走访)",
        r"(?:minister|secretary|governor|commissioner|president)\b.{0,12} (?:opens|inaugurates|breaks ground"
        r"|tours) |(?:receives?|meets?|hosts?|greets?) .{0,30}(?:ambassador|counterpart|delegation|envoy"
        r"|high commissioner)\b",
        unless=r"办法|规定|通知|公告|意见",
    ),
    ActRule(
        Act.MEETING,
        r"启幕|闭门会|圆桌|对话会|恳谈会|推进会|现场会|务虚会|发布会文字实录|同题共答",
        rf"(?:{_BODIES_EN}|panel|group|forum)\w* to (?:meet|convene|gather|host|hold)\b|(?:ministers|leaders"
        rf"|regulators|governors"
        r"|secretaries|officials) .{0,40}(?:reaffirm|discuss|meet|agree to|pledge|gather|vow|call for)|dialogue\b"
        r"|record attendance|(?:industry|association|trade body|union|federation|chamber|campaigners?|lobby"
        r"|groups?|institute|council) .{0,20}(?:welcomes|criticises|criticizes|slams|urges|backs|warns)"
        r"|welcomes (?:the |a |new |decision|proposals?|announcement|plans?)|(?:reaffirms?|underlines?"
        r"|highlights?|hails?) ",
        unless=OF_A_FORM + r"|意见|办法|通知|公告|consult"
        r"|(?:agree|vote|move)s? (?:to|on) (?:end|ban|phase|cut|raise|adopt|extend|cap|a )",
    ),
    ActRule(
        Act.FILING,
        r"(?:债|券|票据)\w{0,6}(?:付息|兑付)|(?:操作|用户|使用)手册|(?:资格|从业|执业|职业|水平|注册"
        r"|等级)\w{0,6}考试.{0,14}(?:安排|通知|公告|报名|成绩"
        r"|合格)|交易日.{0,8}安排"
        r"|(?:全网|联调|系统|仿真|压力)测试的?(?:通知|公告)|(?:拍卖|摇号|竞拍|抽签|竞价)结果|(?:送达|待领|领取)信息"
        r"|(?:票据|债券|国债|国库券|金边).{0,12}(?:投标|招标|中标|竞投|发行|拍卖|续发)(?:结果|公告|通知)",
        rf"notices? of application|(?:auctions?|tenders?|issuance|re-?opening|syndicat\w+|buy-?backs?"
        rf"|switch(?:es)?|conversion|redemption"
        rf"|sale) (?:of|for|results?) .{{0,40}}\b{_DEBT}\b|{_DEBT}\b.{{0,30}}(?:auctions?|tenders?|issuance"
        r"|size announcement|re-?opening|calendar|buy-?back)|(?:cause|hearing|daily|roster) lists?\b|records? of"
        r" proceedings|(?:un)?starred question|question (?:no|number)|(?:lok|rajya) sabha"
        r"|(?:sanction|release|disbursement|transfer) of (?:funds?|grants?|instal\w+|budget|assistance)"
        r"|collection of information|(?:proposed|information|data) collection|comment request; extension",
        unless=OF_A_FORM + r"|rules? (?:on|for)|framework|办法",
    ),
)

_OF_OTHERS = (
    ActRule(
        Act.EXECUTION,
        "",
        r"fee rate (?:advisory|notice)|(?:user|registration|filing|certification|application|licen[cs]ing|inspection"
        r"|accreditation|service|passport|visa)\b.{0,30}\bfees?\b",
        unless=DRAFT + r"|payment polic|physician|guid|transaction|interchange|waive|abolish|scrap|direct final",
    ),
    ActRule(
        Act.INTERPRETATION,
        r"(?:修订|制定|主要|核心)(?:要点|亮点|变化|看点|内容)$|一问一答|(?:有关|几点|情况|相关)说明$|(?:解读"
        r"|说明)材料|(?:问题|疑问|疑难|咨询|共性问题)\w{0,4}(?:解答|答复|释疑|汇编)|释义|解答[（(]",
        r"what .{1,70} (?:means?|changes) for|(?:member|industry|client|technical) briefing|(?:guide|handbook) for"
        r" (?:traders|businesses|firms|employers|consumers|importers|operators|applicants|small)"
        r"|summary of (?:the )?(?:changes|rules|regulations|requirements)",
        unless=DRAFT,
    ),
    ActRule(
        Act.REPORT,
        "",
        r"(?:our |[\w&]+(?: [\w&]+){0,4}['’]?s? )(?:response|submission|reply"
        r"|evidence) to (?:the )?[\w']+(?: [\w'’]+){0,6}"
        r" (?:consultation|proposals?|inquiry|review|call|white paper|green paper|bill)",
        unless=r"government response|(?:authority|agency|commission|bank|treasury|department) response|feedback",
    ),
    ActRule(
        Act.MEETING,
        "",
        r"(?:react(?:s|ion|ions|ing)? to|responds? to|comments? on the|welcomes? the|statement responding)",
        unless=r"invit|seek|request|due|rules|amendments? in response",
    ),
)

_OF_ONE_FIRM = (
    ActRule(
        Act.PENALTY,
        r"采取.{0,6}(?:纪律|执法|法律)行动|(?:根据|依据|违反)《[^》]{2,40}》.{0,24}(?:处罚|谴责|罚款|惩处|定罪|检控)",
        unless=r"意见稿|指引|裁量",
    ),
    ActRule(
        Act.RECALL,
        r"(?:\d|[一二三四五六七八九十多])(?:批次|款|种|组|件).{0,20}(?:不符合(?:规定|标准|要求)|不合格|抽检|检出)"
        r"|(?:不符合规定|不合格)的?(?:通告|公告|名单)",
        r"withdrawn from (?:shelves|sale|the market|stores)|(?:import|health|allergy|food|product|safety"
        r"|drug) alerts?\b|outbreak\b|undeclared|detention without",
        unless=r"办法|管理规定|final rule|propos|guid|工作的通知|compensat",
    ),
    ActRule(
        Act.PRODUCT_RULE,
        r"(?:暂停|停止|恢复|限制).{0,8}(?:进口|销售|使用|经营).{2,40}(?:公司|企业|厂|工厂)\w{0,4}(?:产品|注册|资格)?",
        unless=r"意见|办法",
    ),
    ActRule(
        Act.PENALTY,
        r"(?:监管|关注|问询|警示|监管工作|监管意见)函$|纪律(?:行动|制裁|处分)|聆讯|禁止[\u4e00-\u9fff]{2,24}重投"
        r"|依法(?:处置|处理|惩处|约谈).{0,30}(?:账号|企业|平台|网站|机构)"
        r"|侵权案|(?:案|案件)(?:宣判|审结|公开审理|开庭)|骗取",
        r"orders? .{0,50} to (?:stop|cease|refund|return|divest|halt|remove|recall|repay|compensate|destroy|delete)\b"
        r"|(?:tribunal|court|judge)\b.{0,20}(?:upholds|dismisses|rejects|confirms|quashes)|(?:infringement"
        r"|non-?compliance|breach) decisions?|(?:suspension|halt) of trading|trading (?:suspension|halt)"
        r"|impos\w+ .{0,30}(?:penalt|fines?\b|sanctions? on"
        r" [A-Z])|agrees? to (?:pay|stop|refund|settle|plead)|(?:sentenc|plead|convict)\w+",
        unless=OF_A_FORM + r"|意见稿|propos|framework|policy|regime",
    ),
    ActRule(
        Act.APPROVAL,
        r"供公众查阅|(?:展览|查阅).{0,10}(?:图则|规划)|筹建.{0,30}(?:公示|公告|批复)|获准|获批",
        rf"(?:grants?|granted|granting|awards?|awarded|issues?|issued|receives?) .{{0,40}}\b{_LICENCE}\b (?:to"
        rf"|for|from)"
        rf"|(?:grant|award|transfer|renewal|surrender|reissue) of .{{0,50}}\b{_LICENCE}\b"
        rf"|\b{_LICENCE} (?:grant(?:ed)?|award(?:ed)?)\b|early terminations?\b|truing[- ]up|change in law claim"
        r"|^(?:the )?(?:proposed |anticipated |completed )?(?:acquisition|merger|takeover) (?:by|of|between) "
        r"|(?:petition|case|docket|application|appeal|complaint|suit) (?:no|number|nos)\.? ?[\dA-Z].{0,40}(?:grant"
        r"|adoption|approval|determination of (?:transmission )?tariff)"
        r"|allocation of (?:power|coal|land|quota|slots?)",
        unless=r"general (?:export )?licen|class licen|guid|regime|conditions|rules\b|fees?\b|propos|consult"
        r"|regulations",
    ),
    ActRule(
        Act.APPROVAL,
        "",
        r"^(?:\w+ )?(?:petition|case|docket|appeal|complaint|suit|review petition) (?:no|number|nos)\.? ?[\dA-Z]",
        unless=r"\bv\.? |extension of procedure",
    ),
)

_OF_FORM = (
    ActRule(
        Act.APPLICATION,
        r"(?:组织|开展).{0,6}(?:推荐|申报|遴选).{0,40}的(?:通知|公告)$|接受(?:申请|报名|申报)|(?:申请|报名"
        r"|申报).{0,4}(?:现正|现已|正式|即日起)?(?:接受|开放|开始|启动|受理)$",
        unless=r"意见稿|办法|行政许可",
    ),
    ActRule(Act.EXECUTION, r"关于(?:切实|认真|全力|统筹|扎实)?做好.{2,60}工作的(?:紧急)?通知$", unless=r"意见稿"),
    ActRule(
        Act.FILING, "", r"annual report and (?:accounts|financial statements)|annual report of the (?:board|chair)"
    ),
    ActRule(
        Act.LIST,
        r"(?:重点|监管|排污|用能|管控|示范)\w{0,6}(?:单位|企业)名录|(?:文库|编码表|代码表|代码库|数据库|参数表"
        r"|词库)(?:\d|[（(]|[A-Z]|的|更新|发布)",
        unless=r"办法|规定|意见|数据库建设",
    ),
    ActRule(
        Act.DATA,
        r"(?:主要|生产|运行|经济|财务|业务|核心)\w{0,4}(?:指标|数据)(?:$|情况|[（(])|(?:收购|播种|施工|投资"
        r"|建设)进度|失业率|(?:工业企业|企业)利润|由[降升负正]转"
        r"|百分之|同比|环比|进度情况|(?<!公开)(?<!申报)(?<!申请)(?:收支|负债|统计|概览|数据|价格|余额|损益|持有"
        r"|分布|量值)表$|^截至.{4,30}(?:人数|数量|规模|总量"
        r"|余额|总数|家|户)$",
        r"as (?:on|at|of) (?:the )?\d|commitments? of traders|installed capacity|(?:stocks?|inventories|reserves"
        r"|orders|profits?|unemployment|wages|rents?|house prices|loans|deposits|visitors?|passengers|arrivals"
        r"|registrations|deaths|fatalities|emissions|spending|investment)"
        r" (?:falls?|rises?|fell|rose|climb|drop|grew|slip|edge|jump|down|up|eases?|increase|decrease|holds?)\w*"
        r"|progress (?:report|as on|: )"
        r"|state-?wise|(?:lending|loans|deposits|arrivals|sales|exports|imports|starts|permits|claims|arrears"
        r"|prices|turnover"
        r"|generation|consumption|throughput|traffic|insolvenc\w+|earnings|output"
        r"|demand)\b[^;]{0,40}(?:quarter\b|month\b|week ended|year to)",
        unless=r"办法|rules?\b|regulations?\b|notice|consult|approved list|amend",
    ),
    ActRule(
        Act.GUIDANCE,
        "",
        r"^clarifications? (?:on|of|to|regarding)\b|^(?:technical |final )?(?:advice|checklists?|templates?"
        r"|notes?) (?:on|for|to|of)\b|staff letter|no-?action (?:position|letter|relief)|interpretive (?:letter"
        r"|guidance|release)|disclosure"
        r" interpretations?|staff legal bulletin|^advisory (?:on|to|for|regarding)\b|advisory:|guidance letter"
        r"|compliance (?:guide|advice|note)\b|(?:interpretation|technical|guidance|information|practice"
        r"|compliance|regulatory)"
        r" (?:bulletin|circular letter|paper)\b|\bhandbooks?\b|\b(?:user|procedures?|policy|operations) manual\b"
        r"|booklet",
        unless=DRAFT + r"|small entity",
    ),
    ActRule(
        Act.REPEAL,
        "",
        r"(?:cancellation|revocation|withdrawal|rescission) of (?:the )?(?:proposed |notice|circular|guideline"
        r"|direction|guidance|policy|bulletin|letter|advisory|order (?:no|dated))",
    ),
    ActRule(
        Act.SUPERVISION,
        r"监管政策手册|法定指引",
        r"(?:review|inquiry|study|probe) (?:into|of|on) .{0,60} (?:launched|announced|begins|opened|starts"
        r"|initiated)|launch(?:es|ed)? .{0,30}(?:review|inquiry|market study)\b|"
        r"(?:class|legislative)? ?instrument (?:no\.? ?)?20\d\d/\d+",
        unless=DRAFT,
    ),
    ActRule(
        Act.LAW,
        "",
        r"\b(?:act|ordinance|code|statute)\b,?(?: (?:19|20)\d\d)?[:;,–— -]{0,3}.{0,20}\b(?:commenc(?:es|ement|ing)"
        r"|brought into (?:force|operation)|in operation|takes effect|comes into (?:force|operation))",
        unless=DRAFT + r"|guid|FAQ|regulations?\b|rules\b|order\b",
    ),
    ActRule(
        Act.TERMS,
        "",
        r"(?:extension|delay|postponement|deferral) of .{0,30}(?:compliance|effective|implementation|application"
        r"|reporting) dates?|(?:compliance|effective|implementation|application|start) dates? .{0,30}(?:extended"
        r"|delayed|postponed|deferred|put back|pushed back)|(?:delays|postpones|defers|extends) .{0,40}(?:compliance"
        r"|effective|implementation|start|application) date",
        unless=DRAFT,
    ),
    ActRule(
        Act.EXTENSION,
        r"(?:延长|延续|顺延)(?:《.{2,80}》|.{2,60})(?:的?有效期|执行期限|实施期限|施行期限)",
        unless=DRAFT,
    ),
    ActRule(
        Act.CONSULTATION,
        r"(?:征求|征集|听取|征询)(?:对|关于|有关)?《[^》]{2,90}》\w{0,8}(?:的?意见|$)|(?:规例"
        r"|条例)\w{0,12}(?:草拟本|建议)\w{0,6}(?:咨询)"
        r"|就.{2,80}(?:展开|进行|开展).{0,8}咨询",
        r"^(?:[A-Z]{2,6} )?(?:CP|DP|ED|QCP|HCP|GFC|IFC|CRP) ?\d+\b|^[A-Z]\w.{4,90}: .{0,60}\bproposals?$",
        unless=r"标准|规程|限值|技术规范|导则|speech",
    ),
    ActRule(
        Act.SUPERVISION,
        "",
        r"(?:dumping|countervailing|subsidy|safeguard).{0,90}(?:notice of initiation|initiat(?:ed|ion))",
    ),
    ActRule(
        Act.RULE,
        r"(?:自|于).{2,16}(?:日|月|年)?起.{0,6}(?:施行|实施|执行)的?(?:公告|通知|通告|决定)$",
        r"(?:adopts?|adopted|finali[sz]es?|finali[sz]ed|remakes?|issues final|approves final) .{0,60}(?:amendments?"
        r"|changes|rules?|requirements?|standards?|reporting|reforms|regulations?)\b"
        r"|notification of .{0,120}(?:rules|regulations|order|scheme),? 20\d\d"
        r"|; final (?:determination|rule)\b",
        unless=DRAFT + r"|guid|correct|speech|IFRS|proposed",
    ),
)

FIRST_FORMS = (*_OF_PLAIN_WORDS, *_OF_DAILY_BUSINESS, *_OF_OTHERS, *_OF_ONE_FIRM, *_OF_FORM)
"""In order, before the words of all other modules."""
